"""Export format `html`: a conversation as one page, or all of them as a site; `page.html` is the template."""
