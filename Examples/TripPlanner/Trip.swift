import Bothy

/// A journey; its stops refer to it.
@Entity struct Trip {
  @UniqueValue var name: String
}

/// A night or more somewhere on the way. Goes with its trip when that is deleted.
@Entity struct Stop {
  var name: String
  var day: Int
  @OnDelete(.cascade) var trip: Reference<Trip>
  @Indexed var place: Coordinate?
  /// Two who add a night each, apart from each other, have added two.
  @Merge(.counter) var nights = 1
}
