"""Makes `keys.json`, a JWK Set with a key of each kind, and `tokens.txt`, one token a line for each algorithm.

Signed by another library than ours: pyca/cryptography, over OpenSSL. Run `python3 make.py` in this folder; each run
draws new keys, but for Ed25519 (32 bytes of 9) and the HMAC secret (64 bytes of 5), under which the tests sign more.
"""

import base64, hashlib, hmac, json
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def whole(number, length):
    return b64(number.to_bytes(length, "big"))


HASHES = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
RSA = rsa.generate_private_key(65537, 2048)
P256, P384 = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP384R1())
ED = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([9] * 32))
SECRET = bytes([5] * 64)
CLAIMS = {
    "iss": "https://issuer.example", "sub": "alice", "aud": ["api", "web"],
    "nbf": 1700000000, "exp": 1700003600, "tenant": {"id": 7, "names": ["a", "b"]},
}


def point(name, curve, key, size):
    at = key.public_key().public_numbers()
    return {"kty": "EC", "crv": curve, "kid": name, "x": whole(at.x, size), "y": whole(at.y, size)}


def sign(alg, message):
    family, digest = alg[:2], HASHES.get(alg[2:])
    if family == "RS":
        return "rsa", RSA.sign(message, padding.PKCS1v15(), digest)
    if family == "PS":
        return "rsa", RSA.sign(message, padding.PSS(padding.MGF1(digest), digest.digest_size), digest)
    if family == "ES":
        name, key, size = ("p256", P256, 32) if alg == "ES256" else ("p384", P384, 48)
        r, s = utils.decode_dss_signature(key.sign(message, ec.ECDSA(digest)))
        return name, r.to_bytes(size, "big") + s.to_bytes(size, "big")
    if family == "HS":
        return "oct", hmac.new(SECRET, message, getattr(hashlib, "sha" + alg[2:])).digest()
    return "ed", ED.sign(message)


def token(alg, kid):
    head = b64(json.dumps({"alg": alg, "typ": "JWT", "kid": kid}).encode())
    message = f"{head}.{b64(json.dumps(CLAIMS).encode())}".encode()
    return f"{message.decode()}.{b64(sign(alg, message)[1])}"


number = RSA.public_key().public_numbers()
keys = [
    {"kty": "RSA", "kid": "rsa", "use": "sig", "n": whole(number.n, 256), "e": whole(number.e, 3)},
    point("p256", "P-256", P256, 32),
    point("p384", "P-384", P384, 48),
    {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": b64(ED.public_key().public_bytes_raw())},
    {"kty": "oct", "kid": "oct", "k": b64(SECRET)},
]
with open("keys.json", "w") as out:
    out.write(json.dumps({"keys": keys}, indent=1) + "\n")
with open("tokens.txt", "w") as out:
    for alg in "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 EdDSA HS256 HS384 HS512".split():
        out.write(token(alg, sign(alg, b"")[0]) + "\n")
