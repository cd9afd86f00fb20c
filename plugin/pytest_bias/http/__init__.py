"""HTTP: requests to servers, retries, and failures in words.

Importing these modules imports neither requests nor the Hub's client; using them does.
"""
