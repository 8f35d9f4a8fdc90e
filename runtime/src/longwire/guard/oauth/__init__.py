"""An OAuth 2.1 resource server: access tokens that an authorization server issued for this server."""
