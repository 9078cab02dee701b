import BothyStore

/// A table from OpenStreetMap tags to categories: `{"version": 1, "categories": {"mobility": ["bus_stop", …], …}}`.
///
/// A tag is listed by its key or by its value. The category of a feature is computed from the stored tile, so a new
/// version of the table needs no download.
public struct CategoryTable: Sendable, Hashable {
  /// The version, which increases with each change of the table. Features with another version are recomputed.
  package let version: Int
  private let categories: [String: Mask]

  /// A set of categories with one bit for each. The most important category is the lowest bit.
  struct Mask: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init?(_ category: PlaceCategory) {
      guard let place = CategoryTable.ranked.firstIndex(of: category) else { return nil }
      rawValue = 1 << UInt8(place)
    }

    /// The most important category of the set.
    var category: PlaceCategory? {
      isEmpty ? nil : CategoryTable.ranked[rawValue.trailingZeroBitCount]
    }
  }

  fileprivate static let ranked: [PlaceCategory] = [
    .safety, .mobility, .landmark, .place, .object, .information,
  ]

  /// Creates a table in code. Ignores the categories that tags alone decide (`beacon`, `entrance`, `undefined`).
  package init(version: Int, _ tags: [PlaceCategory: [String]]) {
    self.version = version
    var categories: [String: Mask] = [:]
    for (category, tags) in tags {
      guard let mask = Mask(category) else { continue }
      for tag in tags { categories[tag, default: []].insert(mask) }
    }
    self.categories = categories
  }

  /// Reads a table from JSON and ignores unknown categories. Throws `BothyError` `invalidCategories`.
  package init(json source: some ContiguousBytesSource) throws(BothyError) {
    let json: JSONValue
    do { json = try JSONValue(parsing: source) } catch {
      throw BothyError(.invalidCategories, "The category table is not JSON. \(error)", underlying: error)
    }
    guard let version = json["version"]?.intValue, let lists = json["categories"]?.objectValue else {
      throw BothyError(
        .invalidCategories,
        "The category table needs 'version', a whole number, and 'categories', an object of lists.")
    }
    var tags: [PlaceCategory: [String]] = [:]
    for (name, list) in lists {
      guard let category = PlaceCategory(rawValue: name) else { continue }
      guard let texts = list.arrayValue?.map(\.stringValue), !texts.contains(nil) else {
        throw BothyError(.invalidCategories, "The category '\(name)' must be a list of texts.")
      }
      tags[category] = texts.compactMap { $0 }
    }
    self.init(version: Int(clamping: version), tags)
  }

  func mask(_ text: String) -> Mask { categories[text] ?? [] }
}

extension CategoryTable {
  /// A small table for common places. Its version is 0, so that every table of an app counts as newer.
  ///
  /// It lists about a hundred tags. Features of others are `undefined`.
  public static let common = CategoryTable(
    version: 0,
    [
      .safety: ["construction", "danger_area", "cycle_barrier", "level_crossing", "barrier", "steps"],
      .mobility: [
        "bus_stop", "bus_station", "station", "subway_entrance", "tram_stop", "platform", "ferry_terminal",
        "taxi",
        "crossing", "elevator", "escalator", "atm", "toilets", "parking", "parking_entrance",
        "bicycle_parking",
        "bicycle_rental",
        "gate", "lift_gate", "turnstile",
      ],
      .landmark: [
        "townhall", "place_of_worship", "hospital", "school", "university", "library", "museum", "theatre",
        "stadium",
        "courthouse", "police", "fire_station", "monument", "memorial", "castle", "attraction", "artwork",
        "fountain",
        "park", "embassy", "arts_centre", "cinema", "community_centre",
      ],
      .place: [
        "shop", "office", "restaurant", "cafe", "bar", "pub", "fast_food", "ice_cream", "bank", "pharmacy",
        "clinic",
        "doctors", "dentist", "veterinary", "hotel", "hostel", "guest_house", "fuel", "car_wash",
        "post_office",
        "marketplace", "playground", "pitch", "garden", "swimming_pool", "sports_centre", "fitness_centre",
        "kindergarten", "college", "building", "picnic_site", "supermarket", "convenience",
      ],
      .object: [
        "bench", "waste_basket", "post_box", "telephone", "vending_machine", "recycling", "picnic_table",
        "bollard",
        "street_lamp", "traffic_signals", "fire_hydrant", "flagpole", "drinking_water",
      ],
      .information: ["information", "assembly_point", "defibrillator", "fire_extinguisher", "guidepost"],
    ])
}
