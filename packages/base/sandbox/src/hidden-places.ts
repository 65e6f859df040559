/** Places of the machine that hold credentials, and sockets of its services: hidden from every confined program. */
import { readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import type { Environment } from "@aegis/lib/child-env.ts";

const inHome = [
  ...[".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".config/gh", ".config/hub", ".kube", ".docker", ".netrc"],
  ...[".git-credentials", ".config/git/credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials"],
  ...[".cargo/credentials.toml", ".m2/settings.xml", ".gradle/gradle.properties", ".terraform.d", ".password-store"],
  ...[".local/share/keyrings", ".config/op", ".vault-token", ".pgpass", ".my.cnf"],
  ...[".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history"],
  ...[".local/share/fish/fish_history", ".sqlite_history", ".lesshst", ".viminfo"],
  ...[".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".thunderbird"],
  // The user's key, and what Aegis knows about other projects.
  ".aegis",
];

export async function hiddenPlaces({ home, env }: { home: string; env: Environment }): Promise<string[]> {
  const named = [env.XDG_RUNTIME_DIR, env.SSH_AUTH_SOCK].filter((path) => path !== undefined && isAbsolute(path));
  return [...inHome.map((name) => join(home, name)), ...named, ...(await boundSockets())].filter(
    (path) => path !== undefined,
  );
}

/** The sockets that programs of this machine listen on now. A read-only mount does not keep anyone from connecting. */
async function boundSockets(): Promise<string[]> {
  const table = await readFile("/proc/net/unix", "utf8").catch(() => "");
  return table.split("\n").flatMap((line) => {
    const [, path] = / (\/.*)$/.exec(line) ?? [];
    return path === undefined ? [] : [path];
  });
}
