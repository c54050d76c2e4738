"""Text of unit files and their drop-ins, read and edited without touching a byte that was not meant."""
