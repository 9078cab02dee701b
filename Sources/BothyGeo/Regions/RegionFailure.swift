/// A resource whose request failed, or that is stored although the server reports it as gone.
///
/// Failures are those of the last run, in the order in which they occurred.
public struct RegionFailure: Sendable, Hashable {
  /// The tile, or `nil` for another part of a style, which the message names.
  public var tile: Tile?
  /// The reason of the failure, or that the tile stays stored, as a sentence.
  public var message: String
}
