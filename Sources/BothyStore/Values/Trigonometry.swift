import Foundation

/// Calls the C library's function under a name that doesn't collide with Foundation's overloads.
package func sine(_ radians: Double) -> Double { sin(radians) }
package func cosine(_ radians: Double) -> Double { cos(radians) }
package func arcSine(_ value: Double) -> Double { asin(value) }
package func arcTangent(_ value: Double) -> Double { atan(value) }
package func arcTangent(_ y: Double, over x: Double) -> Double { atan2(y, x) }
package func hyperbolicSine(_ value: Double) -> Double { sinh(value) }
package func naturalLogarithm(_ value: Double) -> Double { log(value) }
