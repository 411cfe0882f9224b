"""What a secret or a person looks like, a row a kind: name, level, template.

``{n}`` stands for n random letters and digits that must not survive, ``{n:x}`` for hexadecimal ones, ``{n:U}`` for
capitals; what a template has in «» must not survive either. Line breaks are ``\\n``.
"""

from __future__ import annotations

import random
import re
import string
from typing import Final, NamedTuple

_ALNUM: Final = string.ascii_letters + string.digits
_HEX: Final = string.hexdigits[:16]
_CAPITALS: Final = string.ascii_uppercase + string.digits
_BLANK: Final = re.compile(r"\{(\d+)(:[xU])?\}|«([^»]*)»")


class SecretKind(NamedTuple):
    """One kind of secret: its name, the level at which it goes, its template."""

    name: str
    level: str
    template: str

    def made(self, seed: int) -> tuple[str, list[str]]:
        """A text of this kind, and the parts of it that must not survive."""
        dice = random.Random(f"{self.name} {seed}")
        gone: list[str] = []

        def fill(match: re.Match[str]) -> str:
            if match.group(3) is not None:
                gone.append(match.group(3))
            else:
                letters, end = {":x": (_HEX, "a4f"), ":U": (_CAPITALS, "AB4")}.get(match.group(2), (_ALNUM, "aB4"))
                # Random letters nearly always have both cases and a digit; short ones are given them.
                gone.append("".join(dice.choice(letters) for _ in range(int(match.group(1)) - 3)) + end)
            return gone[-1]

        return _BLANK.sub(fill, self.template), gone


_BEGIN: Final = "-----BEGIN PRIVATE KEY-----"
_PEM: Final = "\n".join(["{64}"] * 6)

KINDS: Final = tuple(
    SecretKind(*row)
    for row in (
        ("Anthropic", "secrets", "sk-ant-api03-{95}"),
        ("Anthropic admin", "secrets", "sk-ant-admin01-{95}"),
        ("Anthropic login", "secrets", "sk-ant-oat01-{82}"),
        ("OpenAI", "secrets", "sk-{48}"),
        ("OpenAI project", "secrets", "sk-proj-{120}"),
        ("OpenAI service account", "secrets", "sk-svcacct-{100}"),
        ("AWS key id", "secrets", "AKIA{16}"),
        ("AWS secret", "secrets", "aws_secret_access_key = {40}"),
        ("AWS temporary key id", "secrets", "ASIA{16}"),
        ("AWS session", "secrets", "AWS_SESSION_TOKEN={200}"),
        ("AWS Bedrock", "secrets", "ABSK{108}"),
        ("GitHub personal", "secrets", "ghp_{36}"),
        ("GitHub fine-grained", "secrets", "github_pat_{22}_{59}"),
        ("GitHub OAuth", "secrets", "gho_{36}"),
        ("GitHub app", "secrets", "ghs_{36}"),
        ("GitHub refresh", "secrets", "ghr_{76}"),
        ("GitLab", "secrets", "glpat-{20}"),
        ("GitLab deploy", "secrets", "gldt-{20}"),
        ("Slack bot", "secrets", "xoxb-309765223760-126143577891-{24}"),
        ("Slack app", "secrets", "xapp-1-A0123456789-309765223760-{64:x}"),
        ("Slack webhook", "secrets", "https://hooks.slack.com/services/T{8}/B{10}/{24}"),
        ("Discord webhook", "secrets", "https://discord.com/api/webhooks/1094309765223760123/{68}"),
        ("Google", "secrets", "AIza{35}"),
        ("Google OAuth token", "secrets", "ya29.{27}-{32}"),
        ("Google OAuth client", "secrets", "GOCSPX-{28}"),
        ("Stripe", "secrets", "sk_live_{24}"),
        ("Stripe restricted", "secrets", "rk_live_{24}"),
        ("Stripe webhook", "secrets", "whsec_{32}"),
        ("npm", "secrets", "npm_{36}"),
        ("npmrc", "secrets", "//registry.example.org/:_authToken={36}"),
        ("PyPI", "secrets", "pypi-AgEIcHlwaS5vcmc{100}"),
        ("Hugging Face", "secrets", "hf_{34}"),
        ("SendGrid", "secrets", "SG.{22}.{43}"),
        ("Twilio", "secrets", "SK{32}"),
        ("Twilio account", "secrets", "AC{32:x}"),
        ("Mailgun", "secrets", "key-{32}"),
        ("Discord bot", "secrets", "{24}.jBrKFG.{27}"),
        ("Telegram", "secrets", "222622531:{35}"),
        ("DigitalOcean", "secrets", "dop_v1_{64}"),
        ("Databricks", "secrets", "dapi{32:x}"),
        ("Groq", "secrets", "gsk_{52}"),
        ("OpenRouter", "secrets", "sk-or-v1-{64}"),
        ("xAI", "secrets", "xai-{80}"),
        ("Perplexity", "secrets", "pplx-{48}"),
        ("Replicate", "secrets", "r8_{37}"),
        ("Cerebras", "secrets", "csk-{48}"),
        ("NVIDIA", "secrets", "nvapi-{64}"),
        ("Together", "secrets", "tgp_v1_{43}"),
        ("Pinecone", "secrets", "pcsk_{64}"),
        ("E2B", "secrets", "e2b_{40:x}"),
        ("Jina", "secrets", "jina_{60}"),
        ("Firecrawl", "secrets", "fc-{32:x}"),
        ("ElevenLabs", "secrets", "sk_{48:x}"),
        ("Langfuse", "secrets", "sk-lf-{8:x}-{4:x}-4abc-8abc-{12:x}"),
        ("Mistral in the environment", "secrets", "MISTRAL_API_KEY={32}"),
        ("Cohere in the environment", "secrets", "COHERE_API_KEY={40}"),
        ("Azure key", "secrets", "api-key: {32}"),
        ("Azure connection string", "secrets", "AccountName=shop;AccountKey={86}=="),
        ("Linear", "secrets", "lin_api_{40}"),
        ("Notion", "secrets", "secret_{43}"),
        ("Notion today", "secrets", "ntn_{46}"),
        ("Vault", "secrets", "hvs.{90}"),
        ("Vault before 1.10", "secrets", "s.{24}"),
        ("Doppler", "secrets", "dp.pt.{43}"),
        ("Shopify", "secrets", "shpat_{32}"),
        ("age", "secrets", "AGE-SECRET-KEY-{59}"),
        ("Heroku in the environment", "secrets", "HEROKU_API_KEY=«01234567-89ab-cdef-0123-ef9f3927d337»"),
        ("Heroku", "secrets", "HRKU-{60}"),
        ("Cloudflare in the environment", "secrets", "CLOUDFLARE_API_TOKEN={40}"),
        ("Figma", "secrets", "figd_{40}"),
        ("Sentry DSN", "secrets", "https://{32:x}@o1.ingest.sentry.io/1"),
        ("Sentry", "secrets", "sntrys_{80}"),
        ("Supabase", "secrets", "sbp_{40}"),
        ("PlanetScale", "secrets", "pscale_tkn_{43}"),
        ("Docker", "secrets", "dckr_pat_{27}"),
        ("Fireworks", "secrets", "fw_{24}"),
        ("LangSmith", "secrets", "lsv2_pt_{32}_3222426fdb"),
        ("Tavily", "secrets", "tvly-{32}"),
        ("Weights & Biases in the environment", "secrets", "WANDB_API_KEY={40}"),
        ("JWT", "secrets", "eyJhbGciOiJIUzI1NiJ9.{80}.{43}"),
        ("JWT, long", "secrets", "eyJhbGciOiJIUzI1NiJ9.{600}.{43}"),
        ("bearer", "secrets", "Authorization: Bearer {40}"),
        ("basic", "secrets", "Authorization: Basic {27}="),
        ("cookie", "secrets", "Cookie: sessionid={32}"),
        ("set-cookie", "secrets", "Set-Cookie: auth={40}; Path=/"),
        ("x-api-key", "secrets", "x-api-key: «c56a4180-65aa-42ec-a945-5fd21dec0538»"),
        ("login in a URL", "secrets", "postgres://bob:{16}@db.example.com/x"),
        ("password in a URL", "secrets", "redis://:{20}@cache:6379"),
        ("key in a query", "secrets", "https://api.example.com/v1?api_key={32}"),
        ("token in a query", "secrets", "https://example.com/cb?access_token={40}"),
        ("Azure signature", "secrets", "https://b.blob.core.windows.net/c?sv=2022&sig={43}"),
        ("AWS signature", "secrets", "https://b.s3.amazonaws.com/k?X-Amz-Signature={64}"),
        ("password in JSON", "secrets", '{"password": "{14}"}'),
        ("password in YAML", "secrets", "password: {14}"),
        ("password in the environment", "secrets", "DB_PASSWORD={14}"),
        ("quoted, exported", "secrets", "export SECRET_KEY='{40}'"),
        ("password without a digit", "secrets", 'password = "«correcthorsebattery»"'),
        ("password without a digit in the environment", "secrets", "DB_PASSWORD=«correcthorsebattery»"),
        ("curl -u", "secrets", "curl -u bob:{14} https://x"),
        ("mysql -p", "secrets", "mysql -uroot -p«BCIPrGLxzA6c»"),
        ("sshpass", "secrets", "sshpass -p «Z8rU4gkmyYZG» ssh x"),
        ("netrc", "secrets", "machine x.com login bob password {14}"),
        ("PEM", "secrets", f"-----BEGIN RSA PRIVATE KEY-----\n{_PEM}\n-----END RSA PRIVATE KEY-----"),
        ("OpenSSH", "secrets", f"-----BEGIN OPENSSH PRIVATE KEY-----\n{_PEM}\n-----END OPENSSH PRIVATE KEY-----"),
        ("PEM on one line", "secrets", "-----BEGIN EC PRIVATE KEY-----\\n{64}\\n{64}\\n-----END EC PRIVATE KEY-----"),
        ("PEM cut at its end", "secrets", "-----BEGIN PRIVATE KEY-----\n{64}\n{64}\n{64}"),
        ("PEM cut at its beginning", "secrets", "{64}\n{64}\n{20}==\n-----END PRIVATE KEY-----"),
        (
            "PEM with numbered lines",
            "secrets",
            f"1\t{_BEGIN}\n2\t{{64}}\n3\t{{64}}\n4\t-----END PRIVATE KEY-----",
        ),
        (
            "PEM with arrows, cut",
            "secrets",
            f"     1→{_BEGIN}\n     2→{{64}}\n     3→{{64}}\n     4→{{64}}",
        ),
        ("PuTTY", "secrets", "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\n{64}\n{64}"),
        ("PGP", "secrets", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{64}\n{64}\n-----END PGP PRIVATE KEY BLOCK-----"),
        ("PGP, cut", "secrets", "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n{64}\n{64}"),
        ("Docker login", "secrets", '{"auths":{"x":{"auth":"{24}"}}}'),
        ("htpasswd", "secrets", "bob:$apr1$y3wA41F6${22}"),
        ("shadow", "secrets", "root:$6${16}${86}:19000:0:99999:7:::"),
        ("bcrypt", "secrets", "$2b$12${53}"),
        ("split by a character nobody sees", "secrets", "sk-ant-api03-{20}\u200b{60}"),
        ("option, password", "secrets", "deploy --user bob --password {14}"),
        ("option, password with =", "secrets", "deploy --db-password={14} --force"),
        ("option, token", "secrets", "gh auth login --token {40}"),
        ("option, API key", "secrets", "tool --api-key {32} run"),
        ("option, quoted", "secrets", 'tool --client-secret "{32}"'),
        ("option, in a list", "secrets", '["deploy", "--password", "{14}"]'),
        ("header, GitLab", "secrets", "PRIVATE-TOKEN: {20}"),
        ("header, Azure", "secrets", "Ocp-Apim-Subscription-Key: {32:x}"),
        ("header, AWS", "secrets", "X-Amz-Security-Token: {200}"),
        ("header, Datadog", "secrets", "DD-API-KEY: {32:x}"),
        ("header, Vault", "secrets", "X-Vault-Token: {26}"),
        ("header, Okta", "secrets", "Authorization: SSWS {42}"),
        ("header in JSON", "secrets", '{"X-Auth-Token": "{32}"}'),
        ("kubeconfig token", "secrets", "    token: {64}"),
        ("bearer alone", "secrets", "curl -H 'Bearer {40}'"),
        ("sentence", "secrets", "the password is {14} for now"),
        ("NTLM", "secrets", "Administrator:500:aad3b435b51404eeaad3b435b51404ee:{32:x}:::"),
        (
            "seed phrase",
            "secrets",
            "seed phrase: «ocean table river garden pencil window silver forest candle basket harbor stone»",
        ),
        ("extended key", "secrets", "xprv9{107}"),
        ("Mailchimp", "secrets", "{32:x}-us12"),
        ("Airtable", "secrets", "pat{14}.{64:x}"),
        ("HCP Terraform", "secrets", "{14}.atlasv1.{67}"),
        ("Entra", "secrets", "{3}8Q~{34}"),
        ("Teams webhook", "secrets", "https://shop.webhook.office.com/webhookb2/{60}"),
        ("XOAuth in .npmrc", "secrets", "_auth={40}"),
        ("e-mail", "personal", "«jane.doe»@example.org"),
        ("IPv4", "personal", "«203.0.113.77»"),
        ("IPv6", "personal", "«2001:db8:85a3::8a2e:370:7334»"),
        ("home", "personal", "/home/«janedoe»/x"),
        ("Windows home", "personal", "C:\\Users\\«JaneDoe»\\x"),
        ("MAC", "personal", "«00:1A:2B:3C:4D:5E»"),
        ("phone", "personal", "+49 170 «1234567»"),
        ("phone, USA", "personal", "(415) «555-0134»"),
        ("social security number", "personal", "«078-05-1120»"),
        ("credit card", "personal", "«4111 1111 1111 1111»"),
        ("credit card, without blanks", "personal", "«4111111111111111»"),
        ("IBAN", "personal", "«DE89370400440532013000»"),
        ("IBAN, spaced", "personal", "«DE89 3704 0044 0532 0130 00»"),
        ("host name", "personal", "«janes-macbook».local"),
        ("Mac", "personal", "on «Janes-MacBook-Pro» since"),
        ("author", "personal", "Author: «Jane Doe» <jane@corp.example>"),
        ("prompt", "personal", "«janedoe@janes-laptop»:~/shop$ ls"),
        ("prompt of Fedora", "personal", "[«janedoe@janes-laptop» shop]$ ls"),
        ("git's user", "personal", 'git config user.name "«Jane Doe»"'),
        ("git's user in a file", "personal", "user.name=«Jane Doe»"),
        ("git's author in the environment", "personal", "GIT_AUTHOR_NAME='«Jane Doe»'"),
        ("date of birth", "personal", "date of birth: «1984-03-12»"),
        ("date of birth in words", "personal", "born on «12 March 1984»"),
        ("GPS", "personal", "latitude: «48.137154», longitude: «11.576124»"),
        ("GPS as a pair", "personal", "location: «48.137154, 11.576124»"),
        ("GPS in degrees", "personal", "«48°08'13.8\"N»"),
        ("passport", "personal", "Passport No: «C01X00T47»"),
        ("serial number", "personal", "Serial number: «C02XK0PWJGH5»"),
        ("plate", "personal", "license plate «B-JD 1984»"),
    )
)
"""Every kind, secrets first."""
