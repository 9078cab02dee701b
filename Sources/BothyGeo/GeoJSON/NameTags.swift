/// The generic names of features without a name, derived from their tags.
enum NameTags {
  /// Returns the tag for a feature.
  ///
  /// If several tags fit, the key with the better rank wins. At equal rank, the feature's own type wins, then the first
  /// key in order. So the result doesn't depend on the order of hashing.
  static func tag(of tags: Tags, type: String) -> String? {
    var best: (rank: Int, isOwn: Bool, tag: String)?
    for (key, value) in tags {
      guard let (tag, rank) = match(key, value) else { continue }
      let isOwn = key == type
      if let best, rank > best.rank || rank == best.rank && (best.isOwn || !isOwn) { continue }
      best = (rank, isOwn, tag)
    }
    return best?.tag
  }

  /// Matches the exact tag first, then its value under any key, then its key with any value.
  private static func match(_ key: String, _ value: String) -> (tag: String, rank: Int)? {
    if let tag = byTag[key]?[value] { return (tag, ranks[key] ?? unranked) }
    if let tag = byValue[value] { return (tag, ranks[value] ?? unranked) }
    if let tag = byKey[key] { return (tag, ranks[key] ?? unranked) }
    return nil
  }

  private static let unranked = 9

  private static let ranks = [
    "entrance": 0, "emergency": 0, "amenity": 1, "crossing": 1, "shop": 1, "construction": 1, "barrier": 1,
    "leisure": 1, "tourism": 1, "building": 2, "highway": 2,
  ]

  private static let byValue = [
    "crossing": "crossing", "construction": "construction", "danger_area": "dangerous_area",
    "townhall": "townhall",
  ]

  private static let byKey = [
    "crossing": "crossing", "construction": "construction", "entrance": "building_entrance",
  ]

  private static let byTag: [String: [String: String]] = [
    "highway": [
      "bus_stop": "bus_stop", "steps": "steps", "elevator": "elevator", "footway": "walking_path",
      "path": "walking_path", "pedestrian": "pedestrian_street", "cycleway": "bicycle_path",
      "residential": "residential_street", "service": "service_road", "track": "road", "unclassified": "road",
      "tertiary": "road", "tertiary_link": "road", "secondary": "road", "primary": "road",
      "turning_circle": "roundabout", "living_street": "road", "trunk": "road", "motorway": "highway",
      "motorway_link": "highway_ramp", "primary_link": "merging_lane",
    ],
    "building": ["office": "office_building", "school": "school_building", "roof": "covered_pavilion"],
    "shop": ["convenience": "convenience_store"],
    "emergency": ["assembly_point": "assembly_point"],
    "barrier": [
      "cycle_barrier": "cycle_barrier", "turnstile": "turnstile", "cattle_grid": "cattle_grid",
      "gate": "gate", "lift_gate": "gate",
    ],
    "amenity": [
      "toilets": "restroom", "parking": "parking_lot", "parking_entrance": "parking_entrance",
      "bench": "bench",
      "taxi": "taxi_waiting_area", "post_office": "post_office", "post_box": "post_box",
      "waste_basket": "waste_basket", "shower": "shower", "bicycle_parking": "bike_parking", "cafe": "cafe",
      "restaurant": "restaurant", "telephone": "telephone", "fuel": "gas_station", "atm": "atm",
      "recycling": "recycling_bin", "fountain": "fountain", "place_of_worship": "place_of_worship",
      "drinking_water": "water_fountain", "car_wash": "car_wash", "vending_machine": "vending_machine",
    ],
    "leisure": [
      "playground": "playground", "pitch": "sports_field", "swimming_pool": "swimming_pool",
      "garden": "garden", "park": "park", "picnic_table": "picnic_table",
    ],
    "tourism": ["picnic_site": "picnic_area"],
  ]
}
