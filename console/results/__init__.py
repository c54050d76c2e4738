"""Records and the git repository that keeps them: the audit trail."""
