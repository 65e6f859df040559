/** The file with which systemd or launchd keeps the daemon of a project running over reboots, and its name. */
import { createHash } from "node:crypto";
import { basename, join } from "node:path";

export type ServiceKind = "systemd" | "launchd";

export type ServiceFile = {
  kind: ServiceKind;
  /** As the manager knows it. One for each project: two folders may have one name. */
  name: string;
  path: string;
  text: string;
};

export type ServiceOptions = {
  kind: ServiceKind;
  root: string;
  home: string;
  /** `XDG_CONFIG_HOME`, where it is set. */
  configHome: string | undefined;
  /** The programs of the service and of the agents that it starts. */
  path: string;
  /** Node and the file of this command. */
  program: readonly [node: string, entry: string];
  /** A file for what launchd has no journal for. */
  log: string;
};

/** Time for running turns to end before the manager kills the daemon. */
const stopSeconds = 60;

export function serviceFile(options: ServiceOptions): ServiceFile {
  const { kind, root, home } = options;
  const slug = basename(root)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  const id = `${slug === "" ? "project" : slug}-${createHash("sha256").update(root).digest("hex").slice(0, 8)}`;
  if (kind === "launchd") {
    const name = `dev.aegis.${id}`;
    return { kind, name, path: join(home, "Library", "LaunchAgents", `${name}.plist`), text: plist(name, options) };
  }
  const name = `aegis-${id}.service`;
  const folder = join(options.configHome ?? join(home, ".config"), "systemd", "user");
  return { kind, name, path: join(folder, name), text: unit(options) };
}

function unit({ root, path, program }: ServiceOptions): string {
  const command = [...program, "-C", root, "serve"].map(quoted).join(" ");
  return `# Written by: aegis service install
[Unit]
Description=Aegis for ${root.replaceAll("%", "%%")}

[Service]
ExecStart=${command}
WorkingDirectory=${root.replaceAll("%", "%%")}
Environment=${quoted(`PATH=${path}`).replaceAll("$$", "$")}
Restart=on-failure
RestartSec=5
KillMode=mixed
TimeoutStopSec=${stopSeconds}

[Install]
WantedBy=default.target
`;
}

/** An argument of ExecStart: systemd expands `%` and `$`, and reads escapes within quotes. */
function quoted(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%").replaceAll("$", "$$$$");
  return `"${escaped}"`;
}

function plist(name: string, { root, path, program, log }: ServiceOptions): string {
  const strings = [...program, "-C", root, "serve"].map((text) => `    <string>${xml(text)}</string>`).join("\n");
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by: aegis service install -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${xml(name)}</string>
  <key>ProgramArguments</key>
  <array>
${strings}
  </array>
  <key>WorkingDirectory</key>
  <string>${xml(root)}</string>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    <string>${xml(path)}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>${stopSeconds}</integer>
  <key>StandardOutPath</key>
  <string>${xml(log)}</string>
  <key>StandardErrorPath</key>
  <string>${xml(log)}</string>
</dict>
</plist>
`;
}

function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
