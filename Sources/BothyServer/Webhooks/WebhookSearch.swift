/// Decides when the spaces are searched for changes that no notification was received of. Pure.
///
/// A search reads one page of spaces after another, and pauses while no further space can be noted. One begins at the
/// start, after an interval, and when spaces were left out.
struct WebhookSearch: Sendable {
  let interval: Int64
  /// The name after which the next page begins, or `nil` if no search is under way.
  private(set) var place: String? = ""
  private var nextAt: Int64

  init(interval: Int64, at now: Int64) {
    self.interval = interval
    nextAt = now + interval
  }

  /// The time of the next search, if none is under way.
  var moment: Int64? { place == nil ? nextAt : nil }

  /// Returns the name after which to read, or `nil` if there is nothing to read now.
  mutating func next(_ schedule: inout WebhookSchedule, at now: Int64) -> String? {
    guard !schedule.isDisabled, !schedule.isFull else { return nil }
    // A time after the interval is that of a clock that was ahead.
    if place == nil, schedule.isIncomplete || now >= nextAt || nextAt - now > interval { place = "" }
    if place == "" { schedule.beginSearch() }
    return place
  }

  /// Notes that all spaces up to a name are seen; `nil` ends the search.
  mutating func reached(_ name: String?, at now: Int64) {
    place = name
    if name == nil { nextAt = now + interval }
  }
}
