"""Liquids: one step (`liquid`), two trackers (`particles`, `levelset`), and the solids, sources and bodies."""
