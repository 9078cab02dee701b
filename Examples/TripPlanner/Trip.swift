import Bothy

/// A journey. Its stops refer to it.
@Entity struct Trip {
  @UniqueValue var name: String
}

/// A stop of a night or more. It is deleted with its trip.
@Entity struct Stop {
  var name: String
  var day: Int
  @OnDelete(.cascade) var trip: Reference<Trip>
  @Indexed var place: Coordinate?
  /// If two devices add a night each while apart, the merge adds both.
  @Merge(.counter) var nights = 1
}
