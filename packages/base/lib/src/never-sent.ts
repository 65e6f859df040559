/** Tells whether a failed request can have had an effect, and what made it fail. */

/** Errors of a connection that was never made, so that no byte of the request was sent. */
const neverSent = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL"]);

/** Looks for the system error below the errors of HTTP clients. */
export function wasNeverSent(error: unknown): boolean {
  return causesOf(error).some((one) => "code" in one && typeof one.code === "string" && neverSent.has(one.code));
}

/** The words of the innermost error: HTTP clients say only that a request failed. */
export function causeText(error: unknown): string {
  const texts = causesOf(error).map((one) => one.message || ("code" in one ? String(one.code) : ""));
  return texts.findLast((text) => text !== "") ?? String(error);
}

function causesOf(error: unknown): Error[] {
  const found: Error[] = [];
  for (let at: unknown = error; at instanceof Error && found.length < 5; ) {
    found.push(at);
    const one: Error & { error?: unknown; errors?: readonly unknown[] } = at;
    // Node tries all addresses of a name and reports each failure.
    at = one.cause ?? one.error ?? one.errors?.[0];
  }
  return found;
}
