"""What keeps a solve right whatever the method: closed pockets, refinement and scaling, a monotone descent where active
sets repeat, and the test for indefinite matrices.
"""
