"""Read-models shared by both fronts: Scene, Staging, Preview."""
