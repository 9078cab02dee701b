/// The kind of place that a feature is, used to select features.
///
/// It is computed from the feature's tags. If several of the first six fit, the one that is declared first counts.
/// Text such as names and addresses doesn't count, and neither does a tag with the value `no`.
public enum PlaceCategory: String, Sendable, Hashable, CaseIterable, Codable {
  // In order of importance, which decides if several fit.
  /// A hazard: construction, barriers, level crossings, steps.
  ///
  /// It counts before all others of the table.
  case safety
  /// An aid for a journey: stops and stations, crossings, lifts, parking, cash machines.
  ///
  /// Features that are tagged as a crossing for pedestrians, a bus stop or a cash machine have it, whatever the table
  /// says.
  case mobility
  /// A landmark for orientation: sights, parks, public buildings.
  case landmark
  /// A destination: shops, restaurants, offices, hotels.
  ///
  /// Features whose main value is `bank` have it, whatever the table says.
  case place
  /// Street furniture: benches, post boxes, lamps.
  case object
  /// Local information or help: guideposts, boards, defibrillators.
  case information
  /// A beacon (`indoormark=beacon`), independent of the table and before all other categories.
  case beacon
  /// An entrance of a building (`entrance=…`), independent of the table. Queries return it only if they name this
  /// category.
  case entrance
  /// A feature that fits no category of the table.
  ///
  /// Roads, paths, intersections and lists of entrances have it too. Filters without categories include it.
  case undefined
}
