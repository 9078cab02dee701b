/// The keys of values, for schemas that have the values alone.
extension TileSchema {
  /// The OpenStreetMap key of a value or of a class of values. What isn't in it is an `amenity`.
  static let commonKeys: [String: String] = {
    var keys: [String: String] = [:]
    for (key, values) in valuesByKey {
      for value in values { keys[value] = key }
    }
    return keys
  }()

  private static let valuesByKey: [(key: String, values: [String])] = [
    (
      "shop",
      [
        "shop", "grocery", "clothing_store", "alcohol_shop", "laundry", "dry_cleaning", "supermarket",
        "convenience",
        "bakery", "butcher", "deli", "delicatessen", "department_store", "greengrocer", "mall", "kiosk",
        "clothes",
        "shoes", "bag", "jewelry", "watches", "fashion", "boutique", "hairdresser", "beauty", "cosmetics",
        "perfumery",
        "chemist", "optician", "hearing_aids", "books", "newsagent", "stationery", "gift", "toys", "florist",
        "garden_centre", "hardware", "doityourself", "paint", "furniture", "electronics", "computer",
        "mobile_phone", "hifi", "music", "musical_instrument", "video", "video_games", "photo", "camera",
        "art",
        "antiques", "charity", "second_hand", "bicycle", "car", "car_repair", "car_parts", "motorcycle",
        "sports",
        "outdoor", "pet", "tobacco", "lottery", "travel_agency", "ticket", "wine", "alcohol", "beverages",
        "coffee",
        "tea", "confectionery", "chocolate", "pastry", "frozen_food", "general", "wholesale", "locksmith",
        "tailor",
        "fabric", "copyshop", "tattoo", "massage", "accessories", "interior_decoration", "bed", "carpet",
        "lamps",
        "bookmaker", "ship_chandler", "variety_store",
      ]
    ),
    (
      "office",
      [
        "office", "company", "lawyer", "insurance", "estate_agent", "government", "accountant", "architect",
        "employment_agency", "tax_advisor", "notary", "ngo", "it", "coworking", "diplomatic",
      ]
    ),
    (
      "leisure",
      [
        "park", "garden", "playground", "pitch", "sports_centre", "stadium", "swimming_pool", "swimming_area",
        "golf_course", "miniature_golf", "marina", "dog_park", "fitness_centre", "fitness_station",
        "nature_reserve",
        "picnic_table", "ice_rink", "water_park", "bird_hide", "firepit", "fishing", "slipway", "track",
        "escape_game",
        "dance", "bowling_alley", "common", "bandstand",
      ]
    ),
    (
      "tourism",
      [
        "attraction", "artwork", "museum", "gallery", "art_gallery", "hotel", "hostel", "motel",
        "guest_house",
        "bed_and_breakfast", "lodging", "chalet", "alpine_hut", "wilderness_hut", "camp_site", "caravan_site",
        "campsite", "picnic_site", "viewpoint", "zoo", "theme_park", "aquarium", "information", "apartment",
      ]
    ),
    ("information", ["guidepost", "board", "map", "tactile_map", "visitor_centre"]),
    (
      "historic",
      [
        "castle", "monument", "memorial", "ruins", "archaeological_site", "fort", "battlefield",
        "wayside_cross",
        "wayside_shrine", "boundary_stone", "tomb",
      ]
    ),
    (
      "highway",
      [
        "bus_stop", "bus", "crossing", "elevator", "steps", "street_lamp", "traffic_signals",
        "motorway_junction",
      ]
    ),
    (
      "railway",
      [
        "station", "halt", "tram_stop", "subway_entrance", "train_station_entrance", "subway",
        "level_crossing",
      ]
    ),
    ("public_transport", ["platform", "stop_position"]),
    (
      "barrier",
      [
        "gate", "lift_gate", "swing_gate", "kissing_gate", "bollard", "cycle_barrier", "stile", "cattle_grid",
        "turnstile", "toll_booth", "border_control", "block", "sally_port",
      ]
    ),
    ("emergency", ["phone", "fire_hydrant", "defibrillator", "assembly_point", "fire_extinguisher"]),
    ("aeroway", ["aerodrome", "helipad", "terminal"]),
    (
      "natural",
      ["peak", "volcano", "saddle", "beach", "spring", "tree", "cliff", "cave_entrance", "hot_spring"]
    ),
    (
      "man_made",
      ["tower", "lighthouse", "water_tower", "windmill", "observatory", "watermill", "water_well", "pier"]
    ),
    (
      "landuse",
      ["cemetery", "allotments", "forest", "recreation_ground", "military", "quarry", "village_green"]
    ),
    ("boundary", ["national_park", "protected_area", "aboriginal_lands"]),
    ("military", ["danger_area", "airfield", "naval_base"]),
    ("entrance", ["entrance"]),
    ("sport", ["golf", "american_football", "soccer", "swimming"]),
  ]
}
