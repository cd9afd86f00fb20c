"""Models behind a server with OpenAI's protocol, measured through HTTP requests."""
