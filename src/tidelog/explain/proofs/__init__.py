"""Why a fact holds, and why another does not."""
