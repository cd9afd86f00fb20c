"""The Hugging Face Hub: repositories, webhooks and jobs."""
