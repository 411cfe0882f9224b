// Leads pi's providers to ctxtui's relay: their models, keys and logins stay their own.
export default function (pi) {
  for (const [name, baseUrl] of Object.entries(JSON.parse(process.env.CTXTUI_BASE_URLS ?? "{}"))) {
    pi.registerProvider(name, { baseUrl });
  }
}
