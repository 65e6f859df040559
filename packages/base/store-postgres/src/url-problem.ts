/** Judges the text of a database URL. No answer repeats a part that may hold the password. */
import { didYouMean, nearest } from "@aegis/lib/nearest.ts";
import { serverUrls } from "./url.ts";

const example = "postgres://aegis:password@db.example.com:5432/aegis";
export const expectedUrl = `a URL such as ${example}`;

const tlsModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full", "no-verify"];
/**
 * Parameters of libpq and of the driver. The driver ignores every other name, and a misspelt `sslmode` would connect
 * without TLS. A name that is not like any of these is left to the driver: some services add names of their own.
 */
const parameters = `host hostaddr port dbname db user password passfile require_auth channel_binding connect_timeout
  client_encoding encoding options application_name fallback_application_name keepalives keepalives_idle
  keepalives_interval keepalives_count tcp_user_timeout replication gssencmode gsslib gssdelegation krbsrvname ssl sslmode
  requiressl sslnegotiation sslcompression sslcert sslkey sslkeylogfile sslpassword sslcertmode sslrootcert sslcrl
  sslcrldir sslsni requirepeer ssl_min_protocol_version ssl_max_protocol_version min_protocol_version
  max_protocol_version scram_client_key scram_server_key service target_session_attrs load_balance_hosts uselibpqcompat
  statement_timeout lock_timeout query_timeout idle_in_transaction_session_timeout`.split(/\s+/);

/** What is wrong, and what to do about it; null for a URL that the driver understands. */
export function urlProblem(url: string): { problem: string; hint: string } | null {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1] ?? null;
  if (scheme === null || !/^postgres(ql)?$/.test(scheme))
    return {
      problem:
        scheme === null ? "it does not start with postgres://" : `it starts with ${scheme}://, not with postgres://`,
      hint: `expected ${expectedUrl}`,
    };
  const [server] = serverUrls(url);
  if (server === undefined)
    return {
      problem: "its host or its port cannot be read",
      hint: `expected ${expectedUrl}; special characters in the role and the password are written as %XX, for example / as %2F`,
    };
  return parameterProblem(new URL(server).searchParams);
}

function parameterProblem(given: URLSearchParams): { problem: string; hint: string } | null {
  for (const name of given.keys()) {
    if (parameters.includes(name) || nearest(name, parameters) === null) continue;
    const hint = "correct the name after the ? of the URL; see TLS in docs/cluster.md";
    return { problem: `it has the unknown parameter ${name}${didYouMean(name, parameters)}`, hint };
  }
  const mode = given.get("sslmode");
  if (mode === null || tlsModes.includes(mode)) return null;
  return {
    problem: `its sslmode is "${mode}"${didYouMean(mode, tlsModes)}`,
    hint: `expected one of ${tlsModes.join(", ")}`,
  };
}
