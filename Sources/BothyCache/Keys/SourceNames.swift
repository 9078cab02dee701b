/// The names of a source and its attribution, for display without a network.
///
/// The cache does not use them. A registered source gets other names by `ResourceCache.register`.
public struct SourceNames: Sendable, Hashable, Codable {
  /// The name for a list or a button, empty by default.
  public var short: String
  /// The name for a heading or a page of credits, empty by default.
  public var long: String
  /// The text that the owner requires beside the map.
  ///
  /// Plain text, empty by default. Showing it is the app's task.
  public var attribution: String

  /// Creates names, which are empty by default.
  public init(short: String = "", long: String = "", attribution: String = "") {
    self.short = short
    self.long = long
    self.attribution = attribution
  }
}
