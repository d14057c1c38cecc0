"""Liquids: one step (`liquid`), two ways to carry them (`particles`, `levelset`), solids, sources and bodies around."""
