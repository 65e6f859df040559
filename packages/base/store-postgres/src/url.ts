/** Reads database URLs. A URL may name several servers, of which one is writable: `postgres://role@a:5432,b:5432/name`. */

/** Where the data of one project is. */
export type Place = {
  /** A `postgres://` URL. It may hold a password: use `where` in messages. */
  url: string;
  /** The schema that holds the project's tables. */
  schema: string;
};

/** Returns one URL for each server, or an empty list if this is not a URL of PostgreSQL. */
export function serverUrls(url: string): string[] {
  const parts = /^(postgres(?:ql)?:\/\/)([^@/?]*@)?([^/?#]*)(.*)$/s.exec(url);
  if (parts === null) return [];
  const [, scheme = "", role = "", hosts = "", rest = ""] = parts;
  const servers = hosts.split(",").map((host) => `${scheme}${role}${host}${rest}`);
  return servers.every((server) => URL.canParse(server)) ? servers : [];
}

/** The place for people, without the password. */
export function where({ url, schema }: Place): string {
  const servers = serverUrls(url).map((server) => new URL(server));
  const [first] = servers;
  if (first === undefined) return `PostgreSQL, schema ${schema}`;
  return `PostgreSQL at ${servers.map(hostOf).join(",")}${first.pathname}, schema ${schema}`;
}

function hostOf({ hostname, port, searchParams }: URL): string {
  const host = hostname === "" ? (searchParams.get("host") ?? "localhost") : decodeURIComponent(hostname);
  return `${host}${port === "" ? "" : `:${port}`}`;
}
