import Foundation

/// Two styles in the shape of well-known public ones, and the documents that they name.
enum StyleDocuments {
  /// A style with one vector source, hillshade and terrain of one TileJSON document, old-style functions and patterns.
  static let bright = """
    {"version": 8, "name": "Bright",
     "sources": {
       "openmaptiles": {"type": "vector", "url": "https://maps.test/tiles/omt.json"},
       "TerrainSource": {"type": "raster-dem", "url": "https://maps.test/tiles/dem.json", "tileSize": 256},
       "HillshadeSource": {"type": "raster-dem", "url": "https://maps.test/tiles/dem.json", "tileSize": 256},
       "unused": {"type": "vector", "url": "https://maps.test/tiles/unused.json"}},
     "sprite": "https://maps.test/bright/sprite",
     "glyphs": "https://maps.test/fonts/{fontstack}/{range}.pbf",
     "terrain": {"source": "TerrainSource", "exaggeration": 1},
     "layers": [
       {"id": "background", "type": "background", "paint": {"background-color": "#f8f4f0"}},
       {"id": "water", "type": "fill", "source": "openmaptiles", "source-layer": "water",
        "paint": {"fill-pattern": "wave"}},
       {"id": "building", "type": "fill", "source": "openmaptiles", "source-layer": "building", "minzoom": 13},
       {"id": "hillshade", "type": "hillshade", "source": "HillshadeSource", "minzoom": 5},
       {"id": "poi", "type": "symbol", "source": "openmaptiles", "source-layer": "poi",
        "layout": {"icon-image": ["match", ["get", "class"], "rail", "rail_11", "dot_11"], "text-field": "{name}",
                   "text-font": ["Noto Sans Regular"]}},
       {"id": "place", "type": "symbol", "source": "openmaptiles", "source-layer": "place",
        "layout": {"text-field": "{name:latin}", "visibility": "none",
                   "text-font": {"base": 1, "stops": [[6, ["Noto Sans Regular"]], [10, ["Noto Sans Bold"]]]}}},
       {"id": "road", "type": "symbol", "source": "openmaptiles", "source-layer": "transportation_name",
        "layout": {"icon-image": "road_{ref_length}"}}]}
    """

  /// A style with a source whose address has a key, assets on another host, expressions, a relative address and rows
  /// from the south.
  static let light = """
    {"version": 8, "name": "Light",
     "sources": {
       "protomaps": {"type": "vector", "url": "https://api.test/v4.json?key=secret",
         "attribution": "<a href=\\"https://protomaps.com\\">Protomaps</a> &copy; <a href=\\"#\\">OpenStreetMap</a>"},
       "relief": {"type": "raster", "tiles": ["https://relief.test/{z}/{x}/{y}"], "scheme": "tms", "maxzoom": 10,
         "tileSize": 256, "bounds": [10.5, 59.5, 10.75, 61], "attribution": "© Relief"},
       "huts": {"type": "geojson", "data": "huts.geojson", "attribution": "© OpenStreetMap"}},
     "sprite": [{"id": "default", "url": "https://assets.test/sprites/light"},
                {"id": "huts", "url": "https://assets.test/sprites/huts?v=2"}],
     "glyphs": "https://assets.test/fonts/{fontstack}/{range}.pbf",
     "layers": [
       {"id": "relief", "type": "raster", "source": "relief", "maxzoom": 9},
       {"id": "earth", "type": "fill", "source": "protomaps", "source-layer": "earth"},
       {"id": "huts", "type": "circle", "source": "huts"},
       {"id": "places", "type": "symbol", "source": "protomaps", "source-layer": "places",
        "layout": {"icon-image": ["step", ["zoom"], "townspot", 8, ""],
          "text-font": ["case", ["<=", ["get", "min_zoom"], 5], ["literal", ["Noto Sans Medium"]],
                        ["literal", ["Noto Sans Regular"]]],
          "text-field": ["format", ["get", "name"], {"text-font": ["case", ["==", ["get", "script"], "Devanagari"],
            ["literal", ["Noto Sans Devanagari Regular v1"]], ["literal", ["Noto Sans Regular"]]]}, "\\n", {}]}},
       {"id": "water_label", "type": "symbol", "source": "protomaps", "source-layer": "water",
        "layout": {"text-field": ["get", "name"],
          "text-font": ["let", "slanted", ["literal", ["Noto Sans Italic"]], ["step", ["zoom"], ["var", "slanted"],
            10, ["coalesce", ["var", "slanted"], ["literal", ["Noto Sans Regular"]]]]]}}]}
    """

  /// The documents and files of both, by address.
  static let all: [String: String] = [
    "https://maps.test/bright/style.json": bright,
    "https://maps.test/tiles/omt.json": """
    {"tilejson": "3.0.0", "tiles": ["https://a.maps.test/omt/{z}/{x}/{y}.pbf", "https://b.maps.test/omt/{z}/{x}/{y}.pbf"],
     "minzoom": 0, "maxzoom": 12, "attribution": "© OpenMapTiles © OpenStreetMap"}
    """,
    "https://maps.test/tiles/dem.json": """
    {"tilejson": "2.0.0", "tiles": ["/dem/{z}/{x}/{y}"], "minzoom": 0, "maxzoom": 10, "attribution": "AW3D30 (JAXA)",
     "bounds": [-180, -85.06, 180, 85.06]}
    """,
    "https://maps.test/tiles/unused.json": #"{"tiles": ["https://maps.test/unused/{z}/{x}/{y}.pbf"]}"#,
    "https://api.test/style.json?key=secret": light,
    "https://api.test/v4.json?key=secret": """
    {"tilejson": "3.0.0", "tiles": ["https://api.test/v4/{z}/{x}/{y}.mvt?key=secret"], "maxzoom": 15,
     "attribution": "another"}
    """,
  ]
}
