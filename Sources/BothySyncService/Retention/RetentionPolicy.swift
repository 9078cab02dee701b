/// The time for which unneeded data is kept. All in milliseconds.
///
/// ```swift
/// let policy = RetentionPolicy(tombstoneAge: 30 * RetentionPolicy.day, outcomeAge: 30 * RetentionPolicy.day)
/// ```
public struct RetentionPolicy: Sendable, Hashable {
  /// The age after which tombstones are deleted. A device that was away longer starts over and keeps its pending
  /// changes.
  ///
  /// The devices' positions are forgotten at this age too.
  public var tombstoneAge: Int64
  /// The age after which tombstones are deleted if every device with a request within `tombstoneAge` has them.
  ///
  /// Without a noted device, tombstones stay until `tombstoneAge`.
  public var acknowledgedAge: Int64
  /// The age after which the outcome of an operation is forgotten. At least a day.
  ///
  /// A device that repeats an older operation gets a new decision. Its base decides: an update or a deletion that was
  /// applied is a conflict then, with the record as it is. An insert creates its record again if that was deleted.
  public var outcomeAge: Int64
  /// The time a blob is kept after the last record that names it was seen. At least two days, as devices rely on one.
  ///
  /// A record is seen by a collection. A space that is due has one at most once a day.
  public var blobGrace: Int64
  /// The least time between two upkeeps of a space. At least a second.
  ///
  /// A space without changes has no upkeep until something in it gets too old, but for one every 91 days before that.
  public var interval: Int64

  /// Makes terms, by default of 90 days, 7 days, 90 days, 7 days and an hour.
  ///
  /// `acknowledgedAge` is at most `tombstoneAge`. The lower bounds hold for all parameters: a smaller number counts as
  /// the bound. They don't hold for properties that are set later.
  public init(
    tombstoneAge: Int64 = 90 * day, acknowledgedAge: Int64 = 7 * day, outcomeAge: Int64 = 90 * day,
    blobGrace: Int64 = 7 * day, interval: Int64 = hour
  ) {
    self.tombstoneAge = tombstoneAge
    self.acknowledgedAge = min(acknowledgedAge, tombstoneAge)
    self.outcomeAge = max(outcomeAge, Self.day)
    self.blobGrace = max(blobGrace, 2 * Self.day)
    self.interval = max(interval, 1000)
  }

  /// The terms within the bounds that `init` has.
  package var bounded: RetentionPolicy {
    RetentionPolicy(
      tombstoneAge: tombstoneAge, acknowledgedAge: acknowledgedAge, outcomeAge: outcomeAge,
      blobGrace: blobGrace, interval: interval)
  }

  /// The milliseconds of a day.
  public static let day: Int64 = 86_400_000
  /// The longest time that an option may set, in milliseconds.
  package static let longest: Int64 = 10_000 * day
  /// The milliseconds of an hour.
  public static let hour: Int64 = 3_600_000
}
