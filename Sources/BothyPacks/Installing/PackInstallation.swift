/// The result of an installation.
///
/// `fetched` and `reused` together are all files of the pack.
public struct PackInstallation: Sendable, Hashable {
  /// The name of the pack.
  public var name: String
  /// The version that is installed now.
  public var version: String
  /// True if the pack was installed, or false if it already was and is valid.
  ///
  /// Equal manifests are one pack. Their files are then verified in place, which reads all of them.
  public var isNew: Bool
  /// The number of files that were copied from the folder or loaded from the server.
  public var fetched: Int
  /// The number of files that the earlier version has with equal content. They were linked, or copied if that isn't
  /// possible. If nothing is new, these are all files.
  public var reused: Int
}
