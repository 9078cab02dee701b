public import BothyStore

/// What kind of place a feature is, for showing and leaving out.
public enum PlaceCategory: String, Sendable, Hashable, CaseIterable, Codable {
  // In the order in which they count where several fit.
  /// What one has to watch out for: construction, barriers, level crossings, steps.
  case safety
  /// What helps to get on: stops and stations, crossings, lifts, parking, cash machines.
  case mobility
  /// What one finds one's way by: sights, parks, public buildings.
  case landmark
  /// Where one goes: shops, restaurants, offices, hotels.
  case place
  /// Street furniture: benches, post boxes, lamps.
  case object
  /// What tells or helps where one stands: guideposts, boards, defibrillators.
  case information
  /// A beacon (`indoormark=beacon`), whatever the table says.
  case beacon
  /// An entrance of a building (`entrance=…`), whatever the table says; asked for by name only.
  case entrance
  /// None of the table's categories fits.
  case undefined
}

/// Which OpenStreetMap tags mean which category: `{"version": 1, "categories": {"mobility": ["bus_stop", …], …}}`.
///
/// A feature's category is computed from the tile as it came, so a new version of the table needs no download.
public struct CategoryTable: Sendable, Hashable {
  /// Rises with each change of the table; features derived under another one are derived anew.
  public let version: Int
  private let categories: [String: Mask]

  /// One bit a category, the most important the lowest.
  struct Mask: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init?(_ category: PlaceCategory) {
      guard let place = CategoryTable.ranked.firstIndex(of: category) else { return nil }
      rawValue = 1 << UInt8(place)
    }

    /// The first that is in.
    var category: PlaceCategory? {
      isEmpty ? nil : CategoryTable.ranked[rawValue.trailingZeroBitCount]
    }
  }

  fileprivate static let ranked: [PlaceCategory] = [
    .safety, .mobility, .landmark, .place, .object, .information,
  ]

  /// A table made in code. Categories that tags decide alone (`beacon`, `entrance`, `undefined`) are left out.
  public init(version: Int, _ tags: [PlaceCategory: [String]]) {
    self.version = version
    var categories: [String: Mask] = [:]
    for (category, tags) in tags {
      guard let mask = Mask(category) else { continue }
      for tag in tags { categories[tag, default: []].insert(mask) }
    }
    self.categories = categories
  }

  /// Reads a table from JSON. Categories that are not known here are left out. Throws `GeoError` `.invalidCategories`.
  public init(json source: some ContiguousBytesSource) throws(GeoError) {
    let json: JSONValue
    do { json = try JSONValue(parsing: source) } catch {
      throw GeoError(.invalidCategories, "The category table is not JSON. \(error)", underlying: error)
    }
    guard let version = json["version"]?.intValue, let lists = json["categories"]?.objectValue else {
      throw GeoError(
        .invalidCategories,
        "The category table needs 'version', a whole number, and 'categories', an object of lists.")
    }
    var tags: [PlaceCategory: [String]] = [:]
    for (name, list) in lists {
      guard let category = PlaceCategory(rawValue: name) else { continue }
      guard let texts = list.arrayValue?.map(\.stringValue), !texts.contains(nil) else {
        throw GeoError(.invalidCategories, "The category '\(name)' must be a list of texts.")
      }
      tags[category] = texts.compactMap { $0 }
    }
    self.init(version: Int(clamping: version), tags)
  }

  func mask(_ text: String) -> Mask { categories[text] ?? [] }
}

extension CategoryTable {
  /// A small table for common places. Version 0, so that any of an app's own counts as newer.
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
