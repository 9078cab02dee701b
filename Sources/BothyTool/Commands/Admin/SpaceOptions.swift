import ArgumentParser
import BothyServer
import Foundation

/// The options of `bothy serve` for the team's own back end, which decides about the spaces of users.
struct SpaceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Ask this address by a signed POST which spaces the user of a JSON Web Token may read and write; needs "
        + "--spaces-secret. The claim of --jwt-spaces is ignored then.",
      valueName: "URL"))
  var spacesFrom: String?
  @Option(
    help: ArgumentHelp(
      "The file with the secret that requests are signed with: 24 bytes at least, a line for each secret.",
      valueName: "file"), completion: .file())
  var spacesSecret: String?
  @Option(
    help: ArgumentHelp(
      "The claims of the token that the back end gets to know, with commas between them; dots lead into objects.",
      valueName: "claims"))
  var spacesClaims: String?

  func validate() throws {
    guard (spacesFrom == nil) == (spacesSecret == nil) else {
      throw ValidationError("--spaces-from and --spaces-secret go together.")
    }
    guard spacesFrom != nil || spacesClaims == nil else {
      throw ValidationError("--spaces-claims needs --spaces-from.")
    }
  }

  /// Returns the call-out and its secret's file, to read it again, or `nil` without a back end. Throws if the address or
  /// the secret can't be used.
  ///
  /// - Parameter now: the present time, in milliseconds since 1970.
  func callout(
    _ limits: SpaceCallout.Limits, now: @escaping @Sendable () -> Int64
  ) throws -> (callout: SpaceCallout, secret: WatchedFiles)? {
    guard let spacesFrom, let spacesSecret else { return nil }
    let transport = OutboundTransport(
      compression: false, bodyLimit: SpaceCallout.answerSize, connections: limits.requests)
    let claims = spacesClaims?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } ?? []
    let callout = try SpaceCallout(
      url: spacesFrom, secret: StandardStreams.read(spacesSecret), claims: claims, limits: limits, now: now,
      send: transport.send)
    let secret = WatchedFiles([spacesSecret], subject: "the secret of --spaces-from") {
      try callout.replace(secret: StandardStreams.read(spacesSecret))
    }
    return (callout, secret)
  }
}
