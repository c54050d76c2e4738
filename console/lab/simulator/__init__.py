"""A stand-in for SGLang 0.5.10.post1 serving Kimi K2.6 on 8 × 96 GB: standard library only, to run anywhere."""
