/**
 * Finds settings that leave a project more open than necessary, each with the step that fixes it. Pure: reads only the
 * audit.
 */
import type { Audit, AuditFinding } from "@aegis/contract/audit.ts";
import { auditLevels } from "@aegis/contract/audit.ts";
import { isLoopback } from "@aegis/http/guard.ts";

/** The inputs of the checks in addition to the audit itself. */
export type AuditFacts = Omit<Audit, "findings"> & {
  /** Files of the user that other users of the machine can read or change. */
  exposed: readonly string[];
  /** Whether agents may install skills: with approval, immediately, or never. */
  agentInstall: "ask" | "allow" | "deny";
  /** Agents that may fetch from private addresses. */
  privateFetch: readonly string[];
  /** Settings that contain a secret as text, such as `agents.dev.env.API_KEY`. */
  plainSecrets: readonly string[];
};

type Check = (facts: AuditFacts) => AuditFinding[];

const checks: readonly Check[] = [
  ({ trust }) =>
    trust.always
      ? [
          {
            level: "high",
            subject: "trust",
            finding: "everything in this folder is trusted, including future changes",
            fix: "aegis trust --revoke, then aegis trust",
          },
        ]
      : [],
  ({ trust }) =>
    trust.dev.map((plugin) => ({
      level: "medium",
      subject: `plugin ${plugin}`,
      finding: "it is trusted, including future changes (--dev)",
      fix: `aegis plugin trust ${plugin}`,
    })),
  ({ trust }) => {
    const waiting = trust.items.filter(({ state }) => state !== "trusted");
    if (waiting.length === 0) return [];
    const names = waiting.map(({ kind, name, state }) => `${kind} ${name} (${state})`).join(", ");
    return [
      {
        level: "low",
        subject: "trust",
        finding: `${names}: not used until you agree`,
        fix: "aegis trust shows each one and asks",
      },
    ];
  },
  ({ agents }) =>
    agents
      .filter(({ permission, refused, sandbox }) => permission === "full" && refused === null && sandbox === "off")
      .map(({ agent, plugin }) => ({
        level: "high",
        subject: `agent ${agent}`,
        finding: "it runs any command without asking (permission full), and nothing confines its programs",
        fix:
          plugin === null
            ? "set its sandbox to workspace, or its permission to auto or write"
            : "extend it with a lower permission, or set sandbox: workspace for the project",
      })),
  ({ agents }) =>
    agents
      .filter(({ may_end: ends }) => ends.includes("*"))
      .map(({ agent }) => ({
        level: "low",
        subject: `agent ${agent}`,
        finding: "it may end the sessions and tasks of every agent",
        fix: "name the agents in its may_end",
      })),
  ({ gates }) =>
    gates
      .filter(({ state }) => state === "missing")
      .map(({ plugin, hook, reason }) => ({
        level: "medium",
        subject: `plugin ${plugin}`,
        finding: `its gate ${hook} is missing, so the calls it guards are denied: ${reason}`,
        fix: `aegis plugin accept ${plugin}, or aegis plugin drop ${plugin}`,
      })),
  ({ network }) =>
    isLoopback(network.bind)
      ? []
      : [
          {
            level: "high",
            subject: "server",
            finding: `the daemon listens on ${network.bind}: other machines reach it, without encryption`,
            fix: "aegis config set server.bind 127.0.0.1, and use a tunnel",
          },
        ],
  ({ network }) =>
    network.allowed_hosts.length === 0
      ? []
      : [
          {
            level: "low",
            subject: "server",
            finding: `requests for ${network.allowed_hosts.join(", ")} are accepted`,
            fix: "aegis config set server.allowed_hosts '[]'",
          },
        ],
  ({ network }) =>
    network.models
      .filter(({ base_url }) => base_url !== null && sendsInTheClear(base_url))
      .map(({ provider, base_url }) => ({
        level: "medium",
        subject: `model ${provider}`,
        finding: `prompts and the key go to ${base_url} without encryption`,
        fix: `use an https address in models.${provider}.base_url`,
      })),
  ({ network }) =>
    network.webhooks
      .filter(({ allow_private }) => allow_private)
      .map(({ name }) => ({
        level: "medium",
        subject: `webhook out:${name}`,
        finding: "it may send events to addresses of this machine and its network",
        fix: `remove webhooks.out.${name}.allow_private`,
      })),
  ({ agentInstall }) =>
    agentInstall === "allow"
      ? [
          {
            level: "medium",
            subject: "skills",
            finding: "agents install skills without asking",
            fix: "aegis config set skills.agent_install ask",
          },
        ]
      : [],
  ({ privateFetch }) =>
    privateFetch.map((agent) => ({
      level: "medium",
      subject: `agent ${agent}`,
      finding: "it may fetch from private addresses of this network",
      fix: `remove options.allow_private_fetch of ${agent}`,
    })),
  ({ queues }) =>
    queues
      .filter(({ rights }) => rights === "own")
      .map(({ queue, agent, producers }) => ({
        level: "medium",
        subject: `queue ${queue}`,
        finding: `tasks of ${producers.join(", ")} run with the rights of ${agent}`,
        fix: `remove queues.${queue}.rights`,
      })),
  ({ exposed }) =>
    exposed.map((path) => ({
      level: "high",
      subject: path,
      finding: "other users of this machine can read or change it",
      fix: `chmod go-rwx ${path}`,
    })),
  ({ plainSecrets }) =>
    plainSecrets.map((key) => ({
      level: "medium",
      subject: key,
      finding: "the file holds what looks like a secret as text",
      fix: `write \${NAME} in its place, and set NAME in the environment of the daemon`,
    })),
];

/** Most serious first. */
export function auditFindings(facts: AuditFacts): AuditFinding[] {
  const found = checks.flatMap((check) => check(facts));
  return found.sort((a, b) => auditLevels.indexOf(a.level) - auditLevels.indexOf(b.level));
}

function sendsInTheClear(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === "http:" && !isLoopback(hostname);
}
