/** `aegis/client` for browser bundles: the same names, without Node.js modules. */
import { AegisError } from "@aegis/contract/errors.ts";

export * from "./portable.ts";

/** A web page has no project folder. It receives the address and the token from the server that serves it. */
export async function connect(): Promise<never> {
  throw new AegisError("unavailable", "connect() reads the project's files, which a browser cannot do", {
    hint: "use createClient({ url, token })",
  });
}
