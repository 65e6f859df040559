/**
 * Markdown of agents as nodes. The text becomes tokens and the tokens become nodes: no HTML string exists, so there is
 * nothing to sanitise. Images are not fetched, and only plain web and mail links can be followed.
 */
import { Lexer, type Token, type Tokens } from "marked";
import { Component, type ComponentChildren, Fragment, h } from "preact";
import { useMemo } from "preact/hooks";
import { oneLine, visible } from "../model/format.ts";
import { misleadingHost, safeHref } from "../model/links.ts";
import { CodeBlock } from "./code-block.tsx";

const longest = 200_000;
const deepest = 24;

export function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  const growing = useMemo(() => new GrowingText(), []);
  const nodes = useMemo(() => {
    if (live) return growing.nodes(visible(text));
    growing.clear();
    return markdownNodes(text);
  }, [text, live]);
  return <div class="markdown">{nodes}</div>;
}

/** A definition of a link changes text that stands before it. */
const definition = /^ {0,3}\[[^\]\n]+\]:/m;

/**
 * Text that is being written. Only its last block is read again: all blocks before it are settled, except where a later
 * block continues one, as in two lists. Once the text is complete it is read as a whole.
 */
class GrowingText {
  #settled = "";
  #tokens: Token[] = [];

  clear(): void {
    this.#settled = "";
    this.#tokens = [];
  }

  nodes(text: string): ComponentChildren {
    if (text.length > longest || definition.test(text)) return markdownNodes(text, true);
    if (!text.startsWith(this.#settled)) this.clear();
    try {
      const tokens = new Lexer({ gfm: true }).lex(text.slice(this.#settled.length));
      const last = Math.max(
        0,
        tokens.findLastIndex(({ type }) => type !== "space"),
      );
      for (const token of tokens.slice(0, last)) {
        this.#settled += token.raw;
        this.#tokens.push(token);
      }
      const open = tokens.slice(last).map((token, index) => block(token, this.#tokens.length + index, 0, true));
      return [...this.#tokens.map((token, index) => <SettledBlock key={index} token={token} />), ...open];
    } catch {
      return <pre class="plain-text">{text}</pre>;
    }
  }
}

/** A block that does not change any more. Nodes that are used again would keep all their former parents in memory. */
class SettledBlock extends Component<{ token: Token }> {
  override shouldComponentUpdate(next: { token: Token }): boolean {
    return next.token !== this.props.token;
  }

  override render({ token }: { token: Token }) {
    return block(token, 0, 0, false);
  }
}

/** Text that the lexer cannot read, or that is too long to read while a person waits, is shown as it is. */
function markdownNodes(text: string, live = false): ComponentChildren {
  const shown = visible(text);
  if (shown.length > longest) return <pre class="plain-text">{shown}</pre>;
  try {
    return blocks(new Lexer({ gfm: true }).lex(shown), 0, live);
  } catch {
    return <pre class="plain-text">{shown}</pre>;
  }
}

function blocks(tokens: readonly Token[], depth: number, live = false): ComponentChildren[] {
  return tokens.map((token, index) => {
    if (depth > deepest) return <p key={index}>{token.raw}</p>;
    return block(token, index, depth, live && index === tokens.length - 1);
  });
}

function block(token: Token, key: number, depth: number, open: boolean): ComponentChildren {
  switch (token.type) {
    case "space":
    case "def":
    case "checkbox":
      return null;
    case "heading":
      // The page has the first two levels.
      return h(`h${Math.min(6, (token as Tokens.Heading).depth + 2)}`, { key }, inline(token.tokens));
    case "paragraph":
      return <p key={key}>{inline(token.tokens)}</p>;
    case "text":
      return <Fragment key={key}>{token.tokens === undefined ? plain(token.text) : inline(token.tokens)}</Fragment>;
    case "hr":
      return <hr key={key} />;
    case "code":
      // A block that is still being written is not coloured: its end decides how it reads.
      return <CodeBlock key={key} code={token.text} language={open ? "" : languageOf((token as Tokens.Code).lang)} />;
    case "blockquote":
      return <blockquote key={key}>{blocks(token.tokens ?? [], depth + 1)}</blockquote>;
    case "list":
      return list(token as Tokens.List, key, depth);
    case "table":
      return table(token as Tokens.Table, key);
    default:
      return <p key={key}>{token.raw}</p>;
  }
}

function list(token: Tokens.List, key: number, depth: number): ComponentChildren {
  const items = token.items.map((item, index) => (
    <li key={index}>
      {item.task ? (item.checked ? "☑ " : "☐ ") : null}
      {blocks(item.tokens, depth + 1)}
    </li>
  ));
  if (!token.ordered) return <ul key={key}>{items}</ul>;
  return (
    <ol key={key} start={typeof token.start === "number" ? token.start : 1}>
      {items}
    </ol>
  );
}

function table(token: Tokens.Table, key: number): ComponentChildren {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section key={key} class="wide" tabIndex={0} aria-label="Table">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index}>{inline(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{inline(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function inline(tokens: readonly Token[] = []): ComponentChildren[] {
  return tokens.map((token, key) => {
    switch (token.type) {
      case "strong":
        return <strong key={key}>{inline(token.tokens)}</strong>;
      case "em":
        return <em key={key}>{inline(token.tokens)}</em>;
      case "del":
        return <del key={key}>{inline(token.tokens)}</del>;
      case "codespan":
        return <code key={key}>{token.text}</code>;
      case "br":
        return <br key={key} />;
      case "link":
        return <Link key={key} token={token as Tokens.Link} />;
      case "image":
        return (
          <span key={key} class="dim">
            [image: {oneLine(token.text || "no name", 80)}]
          </span>
        );
      case "text":
        return <Fragment key={key}>{token.tokens === undefined ? plain(token.text) : inline(token.tokens)}</Fragment>;
      case "escape":
        return plain(token.text);
      default:
        return token.raw;
    }
  });
}

function Link({ token }: { token: Tokens.Link }) {
  const href = safeHref(token.href);
  if (href === null)
    return (
      <span class="no-link" title={oneLine(token.href)}>
        {inline(token.tokens)}
      </span>
    );
  const host = href.startsWith("mailto:") ? null : misleadingHost(token.text, href);
  return (
    <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">
      {inline(token.tokens)}
      {host === null ? null : <span class="dim"> ({host})</span>}
    </a>
  );
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** The lexer escapes some characters for HTML, which nodes do not need. */
function plain(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name] ?? "");
}

function languageOf(info: string | undefined): string {
  return /^[\w+#-]{1,20}/.exec(info ?? "")?.[0].toLowerCase() ?? "";
}
