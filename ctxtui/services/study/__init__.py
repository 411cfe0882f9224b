"""Works out an open session slice by slice, so that no screen waits for all of it."""
