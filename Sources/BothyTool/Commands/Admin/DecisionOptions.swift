import ArgumentParser
import BothyServer
import BothySyncService

/// The options of `bothy serve` for the team's own back end, which decides about writes.
struct DecisionOptions: ParsableArguments {
  /// The treatment of writes while the back end doesn't decide.
  enum Outage: String, ExpressibleByArgument, CaseIterable {
    case refuseLater = "refuse-later"
    case accept
  }

  @Option(
    help: ArgumentHelp(
      "Ask this address about every change before it is made, by a signed POST; needs --decide-secret.",
      valueName: "URL"))
  var decide: String?
  @Option(
    help: ArgumentHelp(
      "The file with the secret that requests are signed with: 24 bytes at least, a line for each secret.",
      valueName: "file"), completion: .file())
  var decideSecret: String?
  @Option(
    help: ArgumentHelp(
      "Without a decision of the back end: let devices send their changes again later, or accept them.",
      valueName: "policy"))
  var decideOutage = Outage.refuseLater

  func validate() throws {
    guard (decide == nil) == (decideSecret == nil) else {
      throw ValidationError("--decide and --decide-secret go together.")
    }
  }

  /// Sets the rule of the back end. Throws if the address or the secret can't be used. Returns the secret's file, to
  /// read it again, or `nil` without a back end.
  ///
  /// - Parameter now: the present time, in milliseconds since 1970.
  func set(
    _ rules: inout AccessRules, _ limits: WriteCallout.Limits, now: @escaping @Sendable () -> Int64
  ) throws -> WatchedFiles? {
    guard let decide, let decideSecret else { return nil }
    // Requests beyond the connections would wait within their time, as if the back end were silent.
    let transport = OutboundTransport(
      compression: false, bodyLimit: limits.answerSize, connections: limits.requests)
    let callout = try WriteCallout(
      url: decide, secret: StandardStreams.read(decideSecret), limits: limits, now: now, send: transport.send)
    rules.writeRule = callout
    rules.acceptsUndecided = decideOutage == .accept
    return WatchedFiles([decideSecret], subject: "the secret of --decide") {
      try callout.replace(secret: StandardStreams.read(decideSecret))
    }
  }
}
