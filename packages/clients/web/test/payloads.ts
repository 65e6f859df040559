/**
 * Hostile texts in ten classes. `hit()` is a function that the test defines; `origin` is a foreign address that the
 * test watches.
 */
export function payloads(origin: string): string[] {
  return [
    ...handlers,
    ...scriptLinks,
    ...requests(origin),
    ...forms(origin),
    ...mutations,
    ...fences,
    ...nested,
    ...odd,
    ...large,
  ];
}

const img = "<img src=x onerror=hit()>";

/** Raw HTML with handlers. */
const handlers = [
  "<script>hit()</script>",
  img,
  "<svg onload=hit()>",
  "<svg><script>hit()</script></svg>",
  "<body onload=hit()>",
  "<details open ontoggle=hit()>x",
  "<video><source onerror=hit()>",
  "<input autofocus onfocus=hit()>",
  "<marquee onstart=hit()>",
  "<a href=x onmouseover=hit() style=position:fixed;inset:0>x</a>",
];

/** Links that run, read or mislead. */
const scriptLinks = [
  "[x](javascript:hit())",
  "[x](JaVaScRiPt:hit())",
  "[x](java\tscript:hit())",
  "[x](&#106;avascript:hit())",
  "[x](\\x01javascript:hit())",
  "[x](vbscript:hit())",
  "[x](data:text/html,<script>hit()</script>)",
  "[x](data:text/html;base64,PHNjcmlwdD5oaXQoKTwvc2NyaXB0Pg==)",
  "<javascript:hit()>",
  "[x]: javascript:hit()\n\n[x]",
  "[x](blob:https://a/b)",
  "[x](filesystem:http://a/b)",
  "[x](file:///etc/passwd)",
  "[x](//evil.test/x)",
  "[x](\\\\evil.test\\x)",
  "[x](https://user:pw@evil.test/)",
  "[x](javascript&colon;hit())",
  "[x](\u200bjavascript:hit())",
  "[x](\u202ejavascript:hit())",
  "[x](/v1/shutdown)",
  "[x](#/s/ses_1)",
  "[\u202emoc.buhtig](https://evil.test)",
  "[https://good.test](https://evil.test)",
];

/** Requests that leave without a click. */
const requests = (origin: string) => [
  `![x](${origin}/img)`,
  `![x](${origin}/img "t")`,
  `<img src="${origin}/i2">`,
  `<link rel=stylesheet href="${origin}/css">`,
  `<style>@import "${origin}/imp"</style>`,
  `<div style="background:url(${origin}/bg)">`,
  `<video poster="${origin}/poster">`,
  `<audio src="${origin}/a" autoplay>`,
  `<iframe src="${origin}/fr"></iframe>`,
  `<object data="${origin}/o"></object>`,
  `<embed src="${origin}/e">`,
  `<picture><source srcset="${origin}/s"><img src=x></picture>`,
  `<svg><image href="${origin}/svgi"/></svg>`,
  `<svg><use href="${origin}/u#a"/></svg>`,
  `<link rel=dns-prefetch href="${origin}">`,
  `<meta http-equiv=refresh content="0;url=${origin}/meta">`,
  `<base href="${origin}/">`,
  `[![x](${origin}/nest)](https://a.test)`,
  `![x][r]\n\n[r]: ${origin}/ref`,
];

/** Forms, navigation and names that shadow the page's own. */
const forms = (origin: string) => [
  `<form action="${origin}/f"><button>Send</button></form>`,
  "<form id=location><input name=href></form>",
  "<img name=createElement>",
  "<a id=hit></a><a id=hit name=x>",
  "<button formaction=javascript:hit()>x</button>",
  "<isindex type=image src=1 onerror=hit()>",
];

/** Texts that one parser reads differently from another. */
const mutations = [
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=hit()&gt;">',
  `<noscript><p title="</noscript>${img}">`,
  `<svg></p><style><a id="</style>${img}">`,
  "<template><script>hit()</script></template>",
  `<xmp><p title="</xmp>${img}">`,
  `<select><iframe></select>${img}`,
  `<title>${img}</title>`,
];

const fences = [
  `\`\`\`js"><img src=x onerror=hit()>\ncode\n\`\`\``,
  "```<script>hit()</script>\n```",
  `\`${img}\``,
  "~~~ onload=hit()\n</code></pre><script>hit()</script>\n~~~",
  `\`\`\`ts\nconst a = "${img}"; // </span><script>hit()</script>\n\`\`\``,
];

const nested = [
  `| ${img} | b |\n|---|---|\n| <svg onload=hit()> | 2 |`,
  `# ${img}`,
  "- [x](javascript:hit())\n- <svg onload=hit()>",
  `> ${img}`,
  `- [ ] ${img}`,
];

/** Entities, comments, control characters. */
const odd = [
  "&lt;img src=x onerror=hit()&gt;",
  "&#60;img src=x onerror=hit()&#62;",
  `\\${img}`,
  `<!-->${img}-->`,
  `<![CDATA[${img}]]>`,
  `<?xml ${img} ?>`,
  "\u001b]8;;https://evil.test\u0007click\u001b]8;;\u0007",
  `a\u0001${img}`,
];

const large = ["[".repeat(5000), "*".repeat(5000), `${"> ".repeat(3000)}x`, "`".repeat(4999), "![](".repeat(3000)];
