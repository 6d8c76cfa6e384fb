"""The web shell: pages, assets, manifest and service worker."""

from __future__ import annotations

import hashlib
import logging
import mimetypes
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlencode

import orjson
from flask import (
    Blueprint,
    Flask,
    Response,
    current_app,
    has_request_context,
    redirect,
    render_template,
    request,
)
from flask.helpers import send_from_directory
from jinja2 import ChoiceLoader, FunctionLoader
from markupsafe import Markup
from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.security import safe_join
from werkzeug.wrappers import Response as WerkzeugResponse

from citywise.backend.api import access, bundles, modules, problems, security
from citywise.backend.api.languages import COOKIE, LANGUAGES, STRINGS, chosen, strings
from citywise.backend.api.state import state
from citywise.backend.machine import REPOSITORY
from citywise.backend.network import websocket
from citywise.backend.packs.page_files import PageFiles, readable
from citywise.backend.times import zone_name

LOG = logging.getLogger("citywise.web")
WEB = REPOSITORY / "web"
STATIC = WEB / "static"
LIBRARIES = REPOSITORY / "node_modules"
VENDOR = {
    "leaflet": "leaflet/dist",
    "leaflet.markercluster": "leaflet.markercluster/dist",
    "mqtt": "mqtt/dist",
}
LEAFLET = "/assets/vendor/leaflet/"
CLUSTER = "/assets/vendor/leaflet.markercluster/"
PAGES = {"map": "/", "list": "/list", "apps": "/apps", "system": "/system"}
"""The shell's own navigation: key of the string and address, in order."""
SHELL = "-"
"""What stands for an app's name where the shell's own texts are meant."""
_ADDED = "citywise-pages"
_DRESSED = "citywise-dressed"
_EVERYWHERE = "citywise-everywhere"
_FILES = "citywise-page-files"
_MOST_KEPT_BYTES = 1_000_000
"""Of an app's file that the service worker keeps."""
_SHORTCUTS = "citywise-shortcuts"
_NOTHING: Mapping[str, Iterable[security.Grant]] = MappingProxyType({})
THEMES = ("auto", "light", "dark")
YEAR_S = 365 * 24 * 3600

blueprint = Blueprint("pages", __name__)
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("application/manifest+json", ".webmanifest")


@lru_cache
def version() -> str:
    """A digest of all our assets: their address changes with their content."""
    digest = hashlib.sha256()
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            digest.update(path.relative_to(STATIC).as_posix().encode())
            digest.update(path.read_bytes())
    if (made := bundles.made()) is not None:
        digest.update(made.digest.encode())
    return digest.hexdigest()[:12]


def asset(path: str) -> str:
    """The address of one of our own assets."""
    return f"/assets/{version()}/{path}"


def translator(language: str, own: PageFiles | None = None) -> Callable[..., str]:
    """`t("key", name=value)` for templates, by what an app brings: its `own`, or else of the one
    that answers. A text that is missing, or that the values do not fit into, never fails a page:
    what can be read stands for it, and it is told where it belongs."""
    own = own or _owner()
    table = texts(language, own)

    def translate(key: str, **values: object) -> str:
        text = table.get(key)
        if text is None:
            _lacking(own, key, "is not there")
            return readable(key)
        try:
            return text.format(**values) if values else text
        except (LookupError, ValueError, AttributeError) as error:
            _lacking(own, key, f"does not fit its values ({type(error).__name__}: {error})")
            return text

    return translate


def texts(language: str, own: PageFiles | None) -> dict[str, str]:
    """The strings of the shell, and of an app whose page they are for: in a language, or else in
    English."""
    brought = own.texts(language) if own else {}
    return {**brought, **strings("en"), **strings(language)}


@lru_cache(maxsize=64)
def text_module(language: str, own: PageFiles | None) -> tuple[str, str]:
    """The strings of a page as an ES module, and its address, which names its content."""
    script = f"export default {orjson.dumps(texts(language, own)).decode()};\n"
    digest = hashlib.sha256(script.encode()).hexdigest()[:12]
    owner = own.app if own and own.texts(language) else SHELL
    return script, f"/assets/texts/{owner}/{digest}/{language}.js"


def _lacking(own: PageFiles | None, key: str, why: str) -> None:
    if own:
        own.lacks(key, why)
    else:
        LOG.error("the string `%s` %s; write it in %s", key, why, STRINGS / "en.json")


def _owner() -> PageFiles | None:
    """The files of the app that answers this request, if one does."""
    if not has_request_context():
        return None
    dressed = current_app.extensions.get(_DRESSED, {})
    return next((dressed[name] for name in request.blueprints if name in dressed), None)


class Place(NamedTuple):
    """A page in the navigation, as somebody sees it."""

    key: str
    address: str
    text: str
    icon: str


class _Added(NamedTuple):
    """A page of an app in the navigation."""

    address: str
    titles: Mapping[str, str]
    files: PageFiles
    drawn: str | None
    """Its icon as a `<symbol>`, if the app brings one."""

    def text(self, key: str, language: str) -> str:
        """What the navigation calls it."""
        named = self.files.texts(language).get(key) or strings(language).get(key)
        return named or self.titles.get(language) or self.titles["en"]

    def icon(self, key: str) -> str:
        """The name of its icon."""
        if self.drawn is not None:
            return f"{self.files.app}-{key}"
        return key if key in icons() else "apps"


@lru_cache
def icons() -> frozenset[str]:
    """The names of the shell's icons."""
    drawn = (WEB / "templates" / "icons.svg").read_text(encoding="utf-8")
    return frozenset(re.findall(r'id="icon-([\w-]+)"', drawn))


def dress(app: Flask, files: PageFiles, blueprints: Collection[str]) -> None:
    """Give the pages of an app's blueprints the texts, templates and static files it brings."""
    app.extensions.setdefault(_DRESSED, {}).update(dict.fromkeys(blueprints, files))
    app.extensions.setdefault(_FILES, {})[files.app] = files


def add(app: Flask, key: str, address: str, titles: Mapping[str, str], files: PageFiles) -> None:
    """Put the page of an app into the navigation, beside the map: the string `nav.<key>` of the
    app or the shell names it, or else the app's title (by language, English always); its icon is
    the app's, or the shell's `icon-<key>`, or else that of apps."""
    added = _Added(address, titles, files, files.icon(key))
    app.extensions.setdefault(_ADDED, {})[key] = added


def add_shortcuts(app: Flask, shortcuts: Mapping[str, str], files: PageFiles) -> None:
    """Offer addresses where people start the installed app; a string of the app names each."""
    offered = app.extensions.setdefault(_SHORTCUTS, [])
    offered.extend((files, key, address) for key, address in shortcuts.items())


def add_manifests(app: Flask, installable: Mapping[str, str], files: PageFiles) -> None:
    """Serve manifests of pages of an app that can be installed alone: by a text, the address."""
    for key, start in installable.items():
        name = f"manifest-{files.app}-{key.replace('.', '-')}"
        app.add_url_rule(f"{start}.webmanifest", name, access.door(_manifest_of(files, key, start)))


def _manifest_of(files: PageFiles, key: str, start: str) -> Callable[[], Response]:
    def manifest() -> Response:
        return web_manifest(translator(chosen(request), files)(key), start)

    return manifest


def add_everywhere(app: Flask, names: Iterable[str], files: PageFiles) -> None:
    """Load modules of an app's `static/` with every page; one that is not there is noted."""
    there = [files.address(name) for name in names if files.holds(name)]
    app.extensions.setdefault(_EVERYWHERE, []).extend(there)


def navigation(language: str) -> list[Place]:
    """Every page in the navigation of this application, in order."""
    table = strings(language)
    added = current_app.extensions.get(_ADDED, {})
    first, *rest = (Place(key, to, table[f"nav.{key}"], key) for key, to in PAGES.items())
    brought = [
        Place(
            key,
            page.address,
            page.text(f"nav.{key}", language),
            page.icon(key),
        )
        for key, page in added.items()
    ]
    return [first, *brought, *rest]


def page(
    name: str,
    status: int = 200,
    *,
    has_map: bool = False,
    has_broker: bool = False,
    granted: Mapping[str, Iterable[security.Grant]] = _NOTHING,
    **values: Any,
) -> Response:
    """Render a page in the person's language and theme: one of the templates of the app that
    answers, or else of the shell. With `has_map` it is given what shows the city's map, with
    `has_broker` it may connect to the broker. `granted`: what it may use of other origins, as in
    `{"https://meet.example.org": ("frame-src", "camera")}`."""
    if status == 200 and (chosen_now := _remembered()) is not None:
        return chosen_now
    if has_map:
        values |= _map()
    if has_broker and (broker := state().broker_url()):
        security.allow("connect-src", websocket.origin(broker))
    for origin, what in granted.items():
        security.grant(origin, what)
    language = chosen(request)
    theme = request.cookies.get("theme", "auto")
    own = _owner()
    is_own = own is not None and (own.templates / f"{name}.html").is_file()
    html = render_template(
        f"{own.app}/{name}.html" if own and is_own else f"{name}.html",
        page=f"{own.app}-{name}" if own and is_own else name,
        own=own.address if own else None,
        drawn=Markup("".join(_drawn())),  # noqa: S704
        language=language,
        languages=LANGUAGES,
        links=state().settings.web.links.model_dump(exclude_none=True),
        theme=theme if theme in THEMES else "auto",
        t=translator(language),
        texts=text_module(language, own)[1],
        pages=navigation(language),
        asset=asset,
        modules=_modules,
        shell=modules.SHELL,
        built=bundles.NAME,
        styles_of_all=_styles(),
        direct=_direct,
        everywhere=tuple(current_app.extensions.get(_EVERYWHERE, [])),
        version=version(),
        zone=zone_name(),
        **values,
    )
    answer = Response(html, status=status, content_type="text/html; charset=utf-8")
    answer.headers["Content-Language"] = language
    answer.headers["Cache-Control"] = "no-cache"
    answer.vary.update(("Accept-Language", "Cookie"))
    return answer


def _modules(body: str, scripts: str) -> modules.Modules:
    """The modules of a page, by its content and by what its own scripts name."""
    roots = _roots()
    named = [
        address
        for address in re.findall(r'src="([^"]+)"', scripts)
        if modules.root_of(address, roots)
    ]
    named += current_app.extensions.get(_EVERYWHERE, [])
    found = modules.needed(body, tuple(named), tuple(roots))
    made = bundles.made()
    return modules.bundled(found, tuple(roots), made, asset("built/")) if made else found


def _roots() -> list[modules.Root]:
    """The shell's modules, and those of the apps."""
    files = current_app.extensions.get(_FILES, {}).values()
    apps = [modules.Root(own.address(""), own.static) for own in files]
    return [modules.Root(asset("js/"), modules.FOLDER), *apps]


def _direct(scripts: str) -> Markup:
    """A page's scripts, where a bundle is called after a module with the bundle in its stead: one
    question less than by what stands at the module's address."""
    made, roots = bundles.made(), _roots()

    def bundle(found: re.Match[str]) -> str:
        address = found[0]
        root = modules.root_of(address, roots)
        if made is None or root is None:
            return address
        name = made.start(root.path(address))
        return asset(f"built/{name}") if name else address

    return Markup(re.sub(r'(?<=src=")[^"]+', bundle, scripts))  # noqa: S704


def _styles() -> list[str]:
    """The addresses of what every page is styled by."""
    if bundles.made() is not None:
        return [asset("built/shell.css")]
    return [asset(f"css/{name}.css") for name in bundles.STYLES]


def _drawn() -> Iterator[str]:
    added = current_app.extensions.get(_ADDED, {})
    return (page.drawn for page in added.values() if page.drawn is not None)


def _map() -> Mapping[str, Any]:
    """What templates show the city's map with."""
    from citywise.backend.api import (
        city_map,  # It loads folium and pandas, a third of what a start loads.
    )

    city = state()
    parts = city_map.build(city_map.bounds_of(city.engine, city.kinds()), city.settings.web)
    return {
        "scripts": parts.scripts,
        "styles": parts.styles,
        "map_html": parts.html,
        "map_scripts": parts.inline,
    }


def _remembered() -> Response | None:
    """`?lang=da` and `?theme=dark` set a cookie and lead back to the page without them."""
    choices = {COOKIE: tuple(LANGUAGES), "theme": THEMES}
    wanted = {key: request.args.get(key) for key in choices if key in request.args}
    if not wanted:
        return None
    rest = [(key, value) for key, value in request.args.items(multi=True) if key not in choices]
    there = request.path + (f"?{urlencode(rest)}" if rest else "")
    answer = Response(status=303, headers={"Location": there})
    for key, value in wanted.items():
        if value in choices[key]:
            answer.set_cookie(key, value, max_age=YEAR_S, samesite="Lax", path="/")
    return answer


@blueprint.get("/")
@access.city
def show_map() -> Response:
    """The live map."""
    return page("map", has_map=True)


@blueprint.get("/list")
@access.city
def show_list() -> Response:
    """The same content as the map, as lists."""
    return page("list")


@blueprint.get("/apps")
@access.city
def show_apps() -> Response:
    """Apps, and what the person wants to be told."""
    return page("apps")


@blueprint.get("/apps/traces")
@access.city
def show_traces() -> Response:
    """What was evaluated, and why somebody was not told something."""
    return page("traces")


@blueprint.get("/system")
@access.city
def show_system() -> Response:
    """Readiness and dead letters."""
    return page("system")


@blueprint.get("/log-in")
@access.door
def show_log_in() -> Response:
    """Logging in."""
    return page("log-in")


@blueprint.get("/sign-up")
@access.door
def show_sign_up() -> Response:
    """Making an account."""
    return page("sign-up")


@blueprint.get("/account")
@access.city
def show_account() -> Response:
    """A person's account: what they are told, what is known of them, where they are logged in.

    The page holds nothing of the person; it asks for it.
    """
    return page("account")


@blueprint.get("/offline")
@access.door
def show_offline() -> Response:
    """What the service worker shows when a page is neither reachable nor kept."""
    return page("offline")


@blueprint.get("/assets/vendor/<library>/<path:path>")
@access.door
def vendor_asset(library: str, path: str) -> Response:
    """A file of a browser library, as npm installed it."""
    if library not in VENDOR:
        raise NotFound(f"there is no library {library!r} here")
    return send_from_directory(LIBRARIES / VENDOR[library], path, max_age=3600)


@blueprint.get("/assets/apps/<app>/<digest>/<path:path>")
@access.door
def asset_of_app(app: str, digest: str, path: str) -> Response:
    """A file of an app's `static/`; kept as our own assets are."""
    files = current_app.extensions.get(_FILES, {}).get(app)
    if files is None:
        raise NotFound(f"there is no app {app!r} here with files for browsers")
    sent = _facade(files.static / path) or send_from_directory(files.static, path)
    return _cacheable(sent, digest == files.version)


@blueprint.get("/assets/<digest>/<path:path>")
@access.door
def own_asset(digest: str, path: str) -> Response:
    """One of our own assets; kept for good by browsers, as its address names its content."""
    if path.startswith("built/"):
        sent = send_from_directory(bundles.FOLDER, path.removeprefix("built/"))
    else:
        sent = _facade(STATIC / path) or send_from_directory(STATIC, path)
    return _cacheable(sent, digest == version())


def _facade(module: Path) -> Response | None:
    """What leads to the bundle that a module is in, if it is in one."""
    made = bundles.made()
    found = made.facade(module) if made is not None and module.suffix == ".js" else None
    return None if found is None else send_from_directory(found.parent, found.name)


@blueprint.get("/assets/texts/<app>/<digest>/<language>.js")
@access.door
def asset_of_texts(app: str, digest: str, language: str) -> Response:
    """The strings of the pages of an app, or of the shell, as a module."""
    files = current_app.extensions.get(_FILES, {}).get(app)
    if language not in LANGUAGES or (files is None and app != SHELL):
        raise NotFound(f"there are no texts of {app!r} in {language!r} here")
    script, address = text_module(language, files)
    answer = Response(script, content_type="text/javascript; charset=utf-8")
    return _cacheable(answer, f"/{digest}/" in address)


def _cacheable(answer: Response, for_good: bool) -> Response:
    if for_good:
        answer.headers["Cache-Control"] = f"public, max-age={YEAR_S}, immutable"
    return answer


@blueprint.get("/service-worker.js")
@access.door
def service_worker() -> Response:
    """The service worker; at the root, so that its scope is the whole site."""
    language = chosen(request)
    dressed = {own.app: own for own in current_app.extensions.get(_DRESSED, {}).values()}
    shell = [asset(path) for path in _kept_files()]
    shell += {text_module(language, own)[1]: None for own in (None, *dressed.values())}
    brought = [
        own.address(name)
        for own in dressed.values()
        for name in own.kept(_MOST_KEPT_BYTES)
        if _is_loaded(own.static / name)
    ]
    script = render_template(
        "service-worker.js",
        version=hashlib.sha256("".join(shell + brought).encode()).hexdigest()[:12],
        shell=shell,
        icon=asset("icons/icon-192.png"),
        actions=[
            {"action": "acknowledge", "title": strings(language)["notice.ack"]},
            {"action": "snooze", "title": strings(language)["notification.snooze"]},
        ],
        brought=brought,
        vendor=[
            LEAFLET + "leaflet.js",
            LEAFLET + "leaflet.css",
            CLUSTER + "leaflet.markercluster.js",
            CLUSTER + "MarkerCluster.css",
        ],
        pages=[*(place.address for place in navigation(chosen(request))), "/offline"],
    )
    answer = Response(script, content_type="text/javascript; charset=utf-8")
    answer.headers["Cache-Control"] = "no-cache"
    return answer


def _kept_files() -> Iterator[str]:
    """Our own files that pages are shown with offline: bundles where there are, else modules."""
    made = bundles.made()
    for path in sorted(STATIC.rglob("*.*")):
        name = path.relative_to(STATIC).as_posix()
        in_bundle = name.removeprefix("css/").removesuffix(".css") in bundles.STYLES
        if _is_loaded(path) and not (made and in_bundle):
            yield name
    if made is not None:
        yield from (f"built/{name}" for name in made.files)


def _is_loaded(path: Path) -> bool:
    """Whether pages load a file: of modules in bundles only those that pages begin with."""
    made = bundles.made()
    return made is None or made.of(path) is None or made.starts(path)


@blueprint.get("/manifest.webmanifest")
@access.door
def manifest() -> Response:
    """The web app manifest, in the person's language."""
    return web_manifest("Citywise", "/")


def web_manifest(name: str, start: str) -> Response:
    """The manifest of an app of the site that begins at an address: of all of it, or of what
    somebody installs from a page of its own."""
    language = chosen(request)
    t = translator(language)
    body = {
        "id": start,
        "name": name,
        "short_name": name,
        "description": t("app.description"),
        "lang": language,
        "start_url": start,
        "scope": "/",
        "display": "standalone",
        "background_color": "#f6f7f5",
        "theme_color": "#12403c",
        "icons": [
            {"src": asset("icons/icon.svg"), "sizes": "any", "type": "image/svg+xml"},
            {"src": asset("icons/icon-192.png"), "sizes": "192x192", "type": "image/png"},
            {"src": asset("icons/icon-512.png"), "sizes": "512x512", "type": "image/png"},
            {
                "src": asset("icons/icon-512.png"),
                "sizes": "512x512",
                "type": "image/png",
                "purpose": "maskable",
            },
        ],
        "shortcuts": [
            {
                "name": texts(language, files).get(key) or readable(key),
                "url": address,
                "icons": [{"src": asset("icons/icon-192.png"), "sizes": "192x192"}],
            }
            for files, key, address in current_app.extensions.get(_SHORTCUTS, [])
        ],
    }
    return Response(orjson.dumps(body), content_type="application/manifest+json")


@blueprint.get("/favicon.ico")
@access.door
def favicon() -> WerkzeugResponse:
    """Browsers ask for it unasked."""
    return redirect(asset("icons/icon-192.png"), code=302)


def _template_of_app(app: Flask, name: str) -> tuple[str, str, Callable[[], bool]] | None:
    """A template of an app's folder, which is called `APP/NAME.html`."""
    owner, _, path = name.partition("/")
    files = app.extensions.get(_FILES, {}).get(owner)
    if files is None:
        return None
    found = safe_join(str(files.templates), path)
    if found is None or not path.endswith(".html") or not Path(found).is_file():
        return None
    return Path(found).read_text(encoding="utf-8"), found, lambda: True


def _wants_page() -> bool:
    best = request.accept_mimetypes.best_match(["application/problem+json", "text/html"])
    asked = "text/html" in request.accept_mimetypes.values()
    return best == "text/html" and asked and not request.path.startswith("/api/")


def install(app: Flask) -> None:
    """Add the pages, and a page for what a browser does not find."""
    app.register_blueprint(blueprint)
    shell = app.jinja_env.loader
    assert shell is not None
    app.jinja_env.loader = ChoiceLoader([shell, FunctionLoader(partial(_template_of_app, app))])

    @app.errorhandler(404)
    def _not_found(error: HTTPException) -> Response:
        if _wants_page():
            return page("missing", status=404)
        return problems.response(problems.from_http(error))
