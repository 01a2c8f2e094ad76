"""orch trains models on spot GPU instances as if nobody could take them away."""
