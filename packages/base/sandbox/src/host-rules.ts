/** Rules for the hosts that a confined program may connect to: `host`, `host:port`, `*.domain`, `localhost:port`. */
import { isIP } from "node:net";

export type HostRule = {
  /** Lower case, without a final dot; an address in its normal form. */
  host: string;
  /** Every name below `host`, and not `host` itself. */
  below: boolean;
  /** Null: the ports of HTTP and HTTPS. */
  port: number | null;
};

const webPorts = [80, 443];

/** Returns a sentence about the mistake for text that is no rule. */
export function parseHostRule(text: string): HostRule | string {
  const found = /^(\*\.)?(\[[0-9a-f:.]+\]|[^:/\s[\]*@]+)(?::(\d{1,5}))?$/i.exec(text);
  const form = "expected a host such as api.example.com, *.example.com:8443 or localhost:5432";
  if (found === null) return form;
  const [, star, name = "", digits] = found;
  const host = normalHost(name);
  const port = digits === undefined ? null : Number(digits);
  if (host === null || (port !== null && (port < 1 || port > 65_535))) return form;
  if (star !== undefined && (isIP(host) !== 0 || !host.includes("."))) return `${form}; *.${name} names too much`;
  if (isLoopbackName(host) && port === null) return "expected a port, as in localhost:5432";
  return { host, below: star !== undefined, port };
}

/**
 * The host as rules name it: lower case, without a final dot, an address in its normal form (`127.1`, `2130706433` and
 * `::ffff:127.0.0.1` are 127.0.0.1). Null for text that is no host.
 */
export function normalHost(text: string): string | null {
  const bare = text.startsWith("[") ? text : text.includes(":") ? `[${text}]` : text;
  // A URL's parser normalises the forms of an address as the clients do.
  const parsed = URL.parse(`http://${bare.replace(/\.$/, "")}/`);
  if (parsed === null || parsed.hostname === "" || parsed.pathname !== "/" || parsed.username !== "") return null;
  const host = parsed.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host);
  if (mapped === null) return host;
  const [high, low] = [Number.parseInt(mapped[1] ?? "", 16), Number.parseInt(mapped[2] ?? "", 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** `host` is in its normal form. */
export function matchingRule(rules: readonly HostRule[], host: string, port: number): HostRule | null {
  const matches = (rule: HostRule) =>
    (rule.below ? host.endsWith(`.${rule.host}`) : host === rule.host) &&
    (rule.port === null ? webPorts.includes(port) : rule.port === port);
  return rules.find(matches) ?? null;
}

export function isLoopbackName(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host.startsWith("127.") || host === "::1";
}

export function hostRuleText({ host, below, port }: HostRule): string {
  const named = isIP(host) === 6 ? `[${host}]` : host;
  return `${below ? "*." : ""}${named}${port === null ? "" : `:${port}`}`;
}
