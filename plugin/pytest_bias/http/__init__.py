"""HTTP: requests to servers, what is tried again, and what becomes of them in words.

Importing these modules imports neither requests nor the Hub's client; using them does.
"""
