"""Trees as relations: encoding, edit scripts and tree diff."""
