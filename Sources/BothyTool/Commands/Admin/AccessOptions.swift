import ArgumentParser
import BothyServer
import Foundation

/// The options of `bothy serve` for access: authentication and the certificate.
struct AccessOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Who may enter which spaces: a file that `bothy admin token create` writes.", valueName: "file"),
    completion: .file())
  var tokens: String?
  @Option(
    help: ArgumentHelp(
      "Take JSON Web Tokens signed by these keys: a JWKS file, a PEM public key, or the https:// address of a JWKS "
        + "or of an identity provider's /.well-known/openid-configuration.",
      valueName: "file or URL"), completion: .file())
  var jwtKeys: String?
  @Option(
    help: ArgumentHelp("Take HS256 tokens signed with this file's bytes, 32 at least.", valueName: "file"),
    completion: .file())
  var jwtSecret: String?
  @Option(
    help: ArgumentHelp(
      "Where no tokens are asked for: a name beside localhost and --host that requests may come under.",
      valueName: "name"))
  var allowHost: [String] = []
  @Option(
    help: ArgumentHelp(
      "A reverse proxy, or a range such as 10.0.0.0/8; may be repeated. Without it, this machine.",
      valueName: "address"), transform: AccessOptions.range)
  var proxy: [AddressRange] = []
  @Option(
    help: ArgumentHelp(
      "What the claim iss has to be. Without --jwt-keys and --jwt-secret it is an https:// address, whose metadata "
        + "names the keys.",
      valueName: "text"))
  var jwtIssuer: String?
  @Option(help: ArgumentHelp("What the claim aud has to hold.", valueName: "text")) var jwtAudience: String?
  @Option(
    help: ArgumentHelp("The claim that names the user; dots lead into objects.", valueName: "claim"))
  var jwtPrincipal = "sub"
  @Option(help: ArgumentHelp("The claim with the user's groups.", valueName: "claim"))
  var jwtGroups = "groups"
  @Option(
    help: ArgumentHelp(
      "The claim with the spaces that are open, or a template such as user-{sub}.", valueName: "claim"))
  var jwtSpaces = "spaces"
  @Option(
    help: ArgumentHelp("How far the issuer's clock may be off, at most 5m.", valueName: "time"))
  var jwtLeeway = "30s"
  @Option(
    help: ArgumentHelp("The certificate chain to speak TLS with, PEM; needs --tls-key.", valueName: "file"),
    completion: .file())
  var tlsCertificate: String?
  @Option(
    help: ArgumentHelp("The certificate's private key, PEM, without a password.", valueName: "file"),
    completion: .file())
  var tlsKey: String?

  func validate() throws {
    guard (tlsCertificate == nil) == (tlsKey == nil) else {
      throw ValidationError("--tls-certificate and --tls-key go together.")
    }
    guard leeway != nil else { throw ValidationError("--jwt-leeway is a time up to 5m, such as 30s.") }
    // Without keys these options ask for no token, and a server that takes all callers isn't what they mean.
    guard keys != nil || jwtSecret != nil || (jwtIssuer ?? jwtAudience) == nil else {
      throw ValidationError(
        "--jwt-issuer and --jwt-audience need keys: give --jwt-keys or --jwt-secret, or an issuer with https://."
      )
    }
  }

  /// The file or address of the keys. Without one, that of the metadata of an issuer that is an address (OpenID Connect
  /// Discovery).
  private var keys: String? {
    if jwtKeys != nil || jwtSecret != nil { return jwtKeys }
    guard let jwtIssuer, Self.isAddress(jwtIssuer) else { return nil }
    let issuer = jwtIssuer.hasSuffix("/") ? String(jwtIssuer.dropLast()) : jwtIssuer
    return issuer + "/.well-known/openid-configuration"
  }

  private static func isAddress(_ text: String) -> Bool {
    text.hasPrefix("https://") || text.hasPrefix("http://")
  }

  private var leeway: Duration? {
    guard let milliseconds = CLIClock.offset("+" + jwtLeeway), (0...300_000).contains(milliseconds) else {
      return nil
    }
    return .milliseconds(milliseconds)
  }

  /// True if callers are authenticated.
  var asks: Bool { tokens != nil || takesWebTokens }

  /// True if JSON Web Tokens are accepted.
  var takesWebTokens: Bool { keys != nil || jwtSecret != nil }

  /// Returns the access control, or `nil` without authentication. Prints a note if the file has tokens in clear text.
  ///
  /// - Parameters:
  ///   - spaces: the back end that decides about the spaces of JSON Web Tokens.
  ///   - now: the present time, in milliseconds since 1970.
  func control(
    _ spaces: SpaceCallout?, now: @escaping @Sendable () -> Int64
  ) async throws -> Authentication? {
    guard asks else { return nil }
    let isAddress = keys.map(Self.isAddress) ?? false
    let rules = JWTRules(
      issuer: jwtIssuer, audience: jwtAudience, userClaim: jwtPrincipal, groupsClaim: jwtGroups,
      spacesClaim: jwtSpaces, leeway: leeway ?? .seconds(30))
    let access = try await Authentication(
      reading: AccessFiles(
        tokens: tokens, jwtKeys: isAddress ? nil : keys,
        keyAddress: isAddress ? keys.map { JWTKeyAddress(url: $0, send: OutboundTransport().send) } : nil,
        jwtSecret: jwtSecret, rules: rules, spaces: spaces, read: { try StandardStreams.read($0) }), now: now)
    if access.plainTokens > 0, let tokens {
      StandardStreams.note(
        "\(access.plainTokens) of the tokens in \(tokens) are in clear, so everybody who reads the file can "
          + "enter. `bothy admin token hash \(tokens)` replaces them by their digests.")
    }
    return access
  }

  @Sendable private static func range(_ text: String) throws -> AddressRange {
    guard let range = AddressRange(text) else {
      throw ValidationError("--proxy is an address such as 10.0.0.5, or a range such as 10.0.0.0/8.")
    }
    return range
  }

  var tls: TLSFiles? {
    guard let tlsCertificate, let tlsKey else { return nil }
    return TLSFiles(certificate: tlsCertificate, key: tlsKey)
  }
}
