/** The daemon that served this page, and how the page proves that it may ask. */
import { type Client, createClient } from "@aegis/client/client.ts";
import { AegisError } from "@aegis/contract/errors.ts";

const keyName = "aegis.key";

export const client: Client = createClient({
  url: location.origin,
  headers: () => ({ "x-aegis-web": localStorage.getItem(keyName) ?? "" }),
});

/** Exchanges the one-time code of the link, if the page was opened with one. */
export async function login(): Promise<void> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  // First of all: the code must not stay in the history.
  history.replaceState(null, "", "/");
  // Replacing the address is not reported, but the router has seen the code as a place.
  dispatchEvent(new HashChangeEvent("hashchange"));
  const response = await fetch("/web/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const answer = (await response.json()) as { key?: string; error?: { message: string; hint?: string } };
  if (answer.key === undefined)
    throw new AegisError("unauthorized", answer.error?.message ?? "the login failed", {
      ...(answer.error?.hint === undefined ? {} : { hint: answer.error.hint }),
    });
  localStorage.setItem(keyName, answer.key);
}
