// Bundles the pages' ES modules into a few files in web/built: run at set-up, `node scripts/bundle.mjs`.
//
// A module that several pages need goes into the bundle of its folder (`shell.js`, `APP.js`), one that a
// single page needs into a bundle of that page. Every module exists once: where another bundle, or a module
// of somebody's app, imports it, a facade of a line leads to the bundle that has it.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, stop } from 'esbuild-wasm';

const ROOT = resolve(fileURLToPath(import.meta.url), '..', '..');
const OUT = join(ROOT, 'web', 'built');
const SHELL = join(ROOT, 'web', 'static', 'js');
const STYLES = ['fields', 'tokens', 'shell', 'city', 'apps', 'people'].map((name) => join(ROOT, 'web', 'static', 'css', `${name}.css`));
const OF_SHELL = 'citywise/'; // As the page's import map has it.
const BUILT = 'citywise-built/';
const START = 'main.js';
const SMALL = 5; // Modules of an app.
const QUIET = { absWorkingDir: ROOT, bundle: true, format: 'esm', target: 'es2022', minify: true, charset: 'utf8', legalComments: 'none', logLevel: 'warning' };

const posix = (path) => path.split(sep).join('/');
const name = (path) => posix(relative(ROOT, path));

function files(folder, ending) {
  if (!existsSync(folder)) return [];
  const found = readdirSync(folder, { withFileTypes: true, recursive: true });
  return found.filter((each) => each.isFile() && each.name.endsWith(ending)).map((each) => join(each.parentPath ?? each.path, each.name)).sort();
}

const apps = readdirSync(join(ROOT, 'apps'), { withFileTypes: true }).filter((each) => each.isDirectory())
  .map((each) => ({ name: each.name, folder: join(ROOT, 'apps', each.name, 'static') })).filter(({ folder }) => files(folder, '.js').length);
const roots = [{ name: 'shell', folder: SHELL }, ...apps];
const sources = roots.flatMap(({ folder }) => files(folder, '.js'));
const rootOf = (path) => roots.find(({ folder }) => path.startsWith(folder + sep));

const resolved = (specifier, importer) => (specifier.startsWith(OF_SHELL) ? join(SHELL, specifier.slice(OF_SHELL.length)) : resolve(dirname(importer), specifier));

/** What each module imports when it is loaded and later, and what it exports. */
async function read() {
  const { metafile } = await build({
    ...QUIET, entryPoints: sources, outdir: OUT, outbase: ROOT, write: false, metafile: true,
    plugins: [{ name: 'as-it-is', setup: ({ onResolve }) => onResolve({ filter: /^(\.|citywise\/)/ }, ({ kind, path }) => (kind === 'entry-point' ? undefined : { path, external: true })) }],
  });
  const outputs = Object.values(metafile.outputs).filter(({ entryPoint }) => entryPoint);
  return new Map(outputs.map(({ entryPoint, imports, exports }) => {
    const path = resolve(ROOT, entryPoint);
    const of = (kind) => imports.filter((each) => each.kind === kind && /^(\.|citywise\/)/.test(each.path)).map((each) => resolved(each.path, path));
    return [path, { imports: of('import-statement'), later: of('dynamic-import'), exports: exports.filter((each) => each !== 'default') }]; // We have none; of a module without any it is said.
  }));
}

/** The modules that each page starts, by the names of the pages: the shell's by their elements. */
function pages(modules) {
  const defines = new Map(files(SHELL, '.js').flatMap((path) => [...readFileSync(path, 'utf8').matchAll(/customElements\.define\('([\w-]+)'/g)].map(([, element]) => [element, path])));
  const found = new Map([['shell', [join(SHELL, START)]]]);
  for (const template of files(join(ROOT, 'web', 'templates'), '.html')) {
    const elements = [...readFileSync(template, 'utf8').matchAll(/<([a-z]+(?:-[a-z]+)+)\b/g)].map(([, element]) => defines.get(element));
    const page = posix(relative(join(ROOT, 'web', 'templates'), template)).replace('.html', '');
    found.set(page, [...(found.get(page) ?? []), ...elements.filter(Boolean)]);
  }
  const imported = new Set([...modules.values()].flatMap(({ imports, later }) => [...imports, ...later]));
  for (const app of apps) {
    for (const path of files(app.folder, '.js').filter((each) => !imported.has(each))) {
      found.set(`${app.name}.${posix(relative(app.folder, path)).replaceAll('/', '-').replace('.js', '')}`, [path]);
    }
  }
  return found;
}

/** Which bundle each module is in. */
function shared(modules, started) {
  const users = new Map();
  const sizes = new Map();
  for (const [page, begin] of started) {
    const ahead = [...begin];
    const seen = new Set();
    while (ahead.length) {
      const path = ahead.pop();
      if (seen.has(path) || !modules.has(path)) continue;
      seen.add(path);
      users.set(path, [...(users.get(path) ?? []), page]);
      ahead.push(...modules.get(path).imports, ...modules.get(path).later);
    }
    sizes.set(page, [...seen].filter((path) => rootOf(path)?.name !== 'shell').length);
  }
  const isOfApp = (page) => page.includes('.');
  const found = new Map([...users].map(([path, by]) => {
    const { name: root } = rootOf(path);
    if (root === 'shell' && by.every(isOfApp)) return [path, root];
    // What a page of a few modules shares with large ones is with it: it is loaded without them.
    const small = root === 'shell' ? undefined : by.find((page) => sizes.get(page) <= SMALL);
    return [path, by.length === 1 ? by[0] : small ?? root];
  }));
  // What is loaded later, and from another bundle, has one of its own.
  for (const [path, { later }] of modules) {
    for (const other of later.filter((each) => found.get(each) !== found.get(path) && !isLoaded(each))) found.set(other, `later.${name(other).split('/').at(-1).replace('.js', '')}`);
  }
  return found;
}

const mark = (path) => name(path).replace(/[^\w]/g, '_');
const reexport = (path, names, from) => `export { ${names.map((each) => `${mark(path)}$${each} as ${each}`).join(', ')} } from '${BUILT}${from}.js';\nimport '${BUILT}${from}.js';\n`;

const modules = await read();
const started = pages(modules);
/** Whether a module is loaded when a page or another module is. */
const isLoaded = (path) => [...started.values()].some((begin) => begin.includes(path)) || [...modules.values()].some(({ imports }) => imports.includes(path));
const bundleOf = shared(modules, started);
const isEager = (path) => isLoaded(path) || bundleOf.get(path).startsWith('later.');
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });

/** Where a module of another bundle is imported, its facade. */
const facades = (bundle) => ({
  name: 'facades',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^citywise-built\// }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /^(\.|citywise\/)/ }, ({ path, importer, kind, resolveDir }) => {
      const at = resolved(path, importer === `${bundle}.js` ? join(resolveDir, importer) : importer);
      const where = bundleOf.get(at);
      if (kind === 'dynamic-import' && where !== bundle) return { path: `${BUILT}facades/${name(at)}`, external: true };
      return where && where !== bundle ? { path: at, namespace: 'facade' } : { path: at };
    });
    onLoad({ filter: /.*/, namespace: 'facade' }, ({ path }) => ({ contents: reexport(path, modules.get(path).exports, bundleOf.get(path)) }));
  },
});

const imports = {};
for (const bundle of new Set(bundleOf.values())) {
  const own = [...bundleOf].filter(([path, where]) => where === bundle && isEager(path)).map(([path]) => path);
  const first = started.get(bundle) ?? [];
  const order = [...first.filter((path) => own.includes(path)), ...own.filter((path) => !first.includes(path))];
  const contents = order.map((path) => {
    const names = modules.get(path).exports.map((each) => `${each} as ${mark(path)}$${each}`);
    const from = `./${name(path)}`;
    return names.length ? `export { ${names.join(', ')} } from '${from}';` : `import '${from}';`;
  }).join('\n');
  const { metafile } = await build({ ...QUIET, stdin: { contents, resolveDir: ROOT, sourcefile: `${bundle}.js` }, outfile: join(OUT, `${bundle}.js`), metafile: true, plugins: [facades(bundle)] });
  const [output] = Object.values(metafile.outputs);
  imports[`${bundle}.js`] = [...new Set(output.imports.filter((each) => each.external && each.kind === 'import-statement').map((each) => each.path.slice(BUILT.length)))];
}
for (const [path, where] of bundleOf) {
  const { exports } = modules.get(path);
  if (!isEager(path)) continue;
  const at = join(OUT, 'facades', name(path));
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, exports.length ? reexport(path, exports, where) : `import '${BUILT}${where}.js';\n`);
}
await build({ absWorkingDir: ROOT, stdin: { contents: STYLES.map((path) => `@import './${name(path)}';`).join('\n'), resolveDir: ROOT, loader: 'css' }, bundle: true, minify: true, charset: 'utf8', legalComments: 'none', outfile: join(OUT, 'shell.css') });

const digest = createHash('sha256');
for (const path of [...sources, ...STYLES].map(name).sort()) digest.update(path).update(readFileSync(join(ROOT, path)));
const modulesOf = Object.fromEntries([...bundleOf].filter(([path]) => isEager(path)).map(([path, where]) => [name(path), `${where}.js`]));
writeFileSync(join(OUT, 'bundles.json'), JSON.stringify({ made_of: digest.digest('hex'), modules: modulesOf, imports }, null, 1));
stop();
