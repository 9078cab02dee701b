/// The schemas that are recognized.
extension TileSchema {
  /// The known schemas, in the order in which they are tried.
  static let known = [soundscape, openMapTiles, protomaps, shortbread]

  /// OpenMapTiles 3. Names of roads are in a layer apart from their shapes.
  static let openMapTiles = TileSchema(
    "OpenMapTiles",
    marks: [
      "transportation", "transportation_name", "poi", "place", "housenumber", "water_name", "aerodrome_label",
      "mountain_peak", "landcover", "waterway",
    ].map { Mark($0) },
    fields: latinNames, ignored: extraNames,
    rules: openMapTilesPlaces + [
      Rule(
        layer: "transportation_name", shapes: [.line], classes: ["subclass", "class"],
        values: openMapTilesRoads,
        key: "highway", covers: "transportation"),
      openMapTilesTransportation,
    ])

  /// The archives of the Soundscape community: OpenMapTiles with names and ids in the layer of shapes.
  static let soundscape = TileSchema(
    "Soundscape", marks: [Mark("transportation", key: "name")], ids: .planetiler,
    fields: latinNames.merging(["street": "addr:street", "housenumber": "addr:housenumber"]) { $1 },
    ignored: extraNames,
    rules: openMapTilesPlaces + [
      openMapTilesTransportation,
      Rule(layer: "building", classes: ["building"], key: "building", value: "yes", isNamed: true),
    ])
  /// The basemap of Protomaps, versions 2 to 4.
  static let protomaps = TileSchema(
    "Protomaps",
    marks: [
      Mark("roads"), Mark("places"), Mark("earth"), Mark("landuse"), Mark("pois", key: "kind"),
      Mark("pois", key: "pmap:kind"), Mark("buildings", key: "kind"),
    ], ids: .protomaps, ignored: extraNames.union(["name2", "name3", "pgf:name", "pgf:name2", "pgf:name3"]),
    rules: [
      Rule(layer: "pois", classes: ["kind", "pmap:kind"]),
      Rule(
        layer: "roads", shapes: [.line], classes: ["kind_detail", "pmap:kind_detail", "kind", "pmap:kind"],
        values: protomapsRoads, key: "highway"),
      Rule(
        layer: "places", classes: ["kind_detail", "pmap:kind_detail", "kind", "pmap:kind"], key: "place",
        isNamed: true),
      Rule(layer: "water", shapes: [.point], key: "natural", value: "water", isNamed: true),
    ])

  /// Shortbread 1. Names of streets are in a layer apart from their shapes.
  static let shortbread = TileSchema(
    "Shortbread",
    marks: [
      "streets", "street_labels", "addresses", "place_labels", "public_transport", "sites", "land", "pois",
      "ocean",
      "water_polygons", "street_polygons",
    ].map { Mark($0) },
    fields: latinNames.merging(["housename": "addr:housename", "housenumber": "addr:housenumber"]) { $1 },
    rules: [
      Rule(layer: "pois", hasKeys: true, classes: ["kind"]),
      Rule(layer: "public_transport", classes: ["kind"], keys: ["aerialway_station": "aerialway"]),
      Rule(layer: "sites", shapes: [.area], classes: ["kind"], keys: ["construction": "landuse"]),
      Rule(
        layer: "land", shapes: [.area], classes: ["kind"],
        values: ["park": "park", "garden": "garden", "playground": "playground", "cemetery": "cemetery"]),
      Rule(
        layer: "place_labels", classes: ["kind"], values: shortbreadPlaces, key: "place", isNamed: true),
      Rule(
        layer: "street_labels", shapes: [.line], classes: ["kind"], values: roads, key: "highway",
        covers: "streets"),
      Rule(layer: "streets", shapes: [.line], classes: ["kind"], values: roads, key: "highway"),
    ])

  // MARK: parts

  /// Names in languages that several schemas have in fields of their own.
  private static let latinNames = ["name_en": "name:en", "name_de": "name:de"]
  /// Transcribed or repeated names, which add nothing to the others.
  private static let extraNames: Set = ["name_int", "name:latin", "name:nonlatin"]

  private static let openMapTilesPlaces = [
    Rule(
      layer: "poi", shapes: [.point, .area], classes: ["subclass", "class"],
      first: ["place_of_worship", "pitch", "information"]),
    Rule(layer: "place", shapes: [.point], classes: ["class"], key: "place", isNamed: true),
    Rule(layer: "park", shapes: [.point], key: "leisure", value: "nature_reserve", isNamed: true),
    Rule(layer: "aerodrome_label", shapes: [.point], key: "aeroway", value: "aerodrome", isNamed: true),
    Rule(layer: "water_name", classes: ["class"], key: "natural", value: "water", isNamed: true),
    Rule(layer: "mountain_peak", shapes: [.point], classes: ["class"], key: "natural", isNamed: true),
  ]

  private static let openMapTilesTransportation = Rule(
    layer: "transportation", shapes: [.line], classes: ["subclass", "class"], values: openMapTilesRoads,
    key: "highway")

  /// Values of `highway` that are roads and paths.
  private static let roads = Dictionary(
    uniqueKeysWithValues: [
      "motorway", "motorway_link", "trunk", "trunk_link", "primary", "primary_link", "secondary",
      "secondary_link",
      "tertiary", "tertiary_link", "unclassified", "residential", "living_street", "service", "pedestrian",
      "track",
      "footway", "steps", "path", "cycleway", "bridleway",
    ].map { ($0, $0) })

  private static let openMapTilesRoads = roads.merging(["minor": "unclassified", "corridor": "footway"]) {
    $1
  }

  private static let protomapsRoads = roads.merging([
    "highway": "motorway", "major_road": "secondary", "medium_road": "tertiary", "minor_road": "unclassified",
    "sidewalk": "footway", "crossing": "footway", "corridor": "footway",
  ]) { $1 }

  private static let shortbreadPlaces = Dictionary(
    uniqueKeysWithValues: [
      "city", "town", "village", "hamlet", "suburb", "quarter", "neighbourhood", "isolated_dwelling", "farm",
      "island", "locality",
    ].map { ($0, $0) }
  ).merging(["capital": "city", "state_capital": "city"]) { $1 }
}
