"""What a person looks at: `render` paints pictures and movies, `page` makes pages for a browser.

Both read run directories (`files`) and know nothing of how a run was computed.
"""
