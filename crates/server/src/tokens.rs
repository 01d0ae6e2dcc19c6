//! What the faces of a policy demand of whoever calls: read together, and replaced together.

use tidegate_policy::Policy;

use crate::api::{Token, TokenError, TokenInForce};

/// Something for each face that may demand a token.
#[derive(Debug, Clone)]
pub(crate) struct Tokens<T> {
    pub(crate) api: T,
    pub(crate) envoy: T,
    pub(crate) resp: T,
    pub(crate) admin: T,
}

impl Tokens<Option<Token>> {
    /// Reads the files that a policy names.
    ///
    /// # Errors
    /// When one cannot be used; says the face it is for.
    pub(crate) fn read(policy: &Policy) -> Result<Self, (&'static str, TokenError)> {
        let [api, envoy, resp, admin] = policy.token_files().map(|(face, file)| {
            let token = file.map(Token::read).transpose();
            token.map_err(|source| (face, source))
        });
        Ok(Self { api: api?, envoy: envoy?, resp: resp?, admin: admin? })
    }
}

impl Tokens<TokenInForce> {
    /// Demands others from now on.
    pub(crate) fn replace(&self, tokens: Tokens<Option<Token>>) {
        self.api.replace(tokens.api);
        self.envoy.replace(tokens.envoy);
        self.resp.replace(tokens.resp);
        self.admin.replace(tokens.admin);
    }
}

impl From<Tokens<Option<Token>>> for Tokens<TokenInForce> {
    fn from(tokens: Tokens<Option<Token>>) -> Self {
        let Tokens { api, envoy, resp, admin } = tokens;
        Self { api: api.into(), envoy: envoy.into(), resp: resp.into(), admin: admin.into() }
    }
}
