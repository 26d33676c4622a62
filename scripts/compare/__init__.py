"""Parts of scripts/compare_clients. What reads results and computes is pure; only process.py and install.py act."""
